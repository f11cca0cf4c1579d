#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/simulate/model/names.h"
#include <doctest/doctest.h>

using namespace std::chrono_literals;
using namespace postrider::simulate;

namespace {

config::Config config_of(std::string_view text) {
    auto config = config::parse(text, "c.toml", {"h.example", "user", 2});
    REQUIRE(config);
    return *config;
}

Scenario scenario_of(std::string_view text) {
    auto scenario = parse("[traffic.t]\ndomains = \"a.example\"\n" + std::string(text), "s.toml");
    REQUIRE(scenario);
    return *scenario;
}

} // namespace

TEST_CASE("a route's next hops: the preferred one, the next while that is down, the preferred one if all are") {
    const auto config =
        config_of("[route.\"*\"]\nconnections = 7\n"
                  "next_hop = [\"[one.example]:25\", [\"[two.example]:25\", \"[three.example]:26\"]]\n");
    const auto scenario = scenario_of("");
    SimulatedRouter router(config.mta, config.dns, config.routes, scenario);
    CHECK(router.find("a.example", 0s).destination.link == "[one.example]");
    CHECK(router.find("a.example", 0s).destination.kind == decide::RouteKind::configured);
    CHECK(router.find("a.example", 0s).rule->connections == 7);
    router.link_state("[one.example]", true);
    CHECK(router.find("a.example", 0s).destination.link == "[three.example]:26,[two.example]");
    router.link_state("[three.example]:26,[two.example]", true);
    CHECK(router.find("a.example", 0s).destination.link == "[one.example]");
    router.link_state("[one.example]", false);
    CHECK(router.find("a.example", 0s).destination.link == "[one.example]");
}

TEST_CASE("a pool has links of its own, each down for itself; the mail's own comes before the route's") {
    const auto config = config_of("[pool.bulk]\naddresses = [\"192.0.2.1\"]\n[route.\"*\"]\npool = \"bulk\"\n"
                                  "next_hop = [\"[one.example]:25\", \"[two.example]:25\"]\n");
    const auto scenario = scenario_of("");
    SimulatedRouter router(config.mta, config.dns, config.routes, scenario);
    CHECK(router.find("a.example", 0s).destination.link == "[one.example]@bulk");
    CHECK(router.find("a.example", 0s, "vip").destination.link == "[one.example]@vip");
    router.link_state("[one.example]@vip", true);
    CHECK(router.find("a.example", 0s).destination.link == "[one.example]@bulk");
    CHECK(router.find("a.example", 0s, "vip").destination.link == "[two.example]@vip");
}

TEST_CASE("without a route: MX hosts as the scenario has them") {
    const auto config = config_of("");
    const auto scenario = scenario_of("[domain.\"a.example\"]\nmx = [\"mx1.example\", \"mx2.example\"]\nttl = \"5m\"\n"
                                      "[domain.\"ours.example\"]\nmx = [\"h.example\"]\n"
                                      "[fault.servfail]\nhow = \"no_dns\"\ndomains = [\"a.example\"]\nfrom = \"1h\"\n"
                                      "[fault.gone]\nhow = \"no_name\"\ndomains = [\"b.example\"]\nfrom = \"1h\"\n");
    const SimulatedRouter router(config.mta, config.dns, config.routes, scenario);
    const auto found = router.find("a.example", 0s);
    CHECK(found.destination.kind == decide::RouteKind::mx);
    CHECK(found.destination.link == "mx1.example;mx2.example");
    CHECK(found.valid == 5min);
    CHECK(router.find("b.example", 0s).destination.link == "mx.b.example");
    CHECK(router.find("a.example", 1h).destination.kind == decide::RouteKind::temporary);
    CHECK(router.find("a.example", 1h).valid == config.dns.failure_ttl);
    CHECK(router.find("a.example", 2h).destination.found());
    CHECK(router.find("b.example", 1h).destination.kind == decide::RouteKind::permanent);
    CHECK(router.find("ours.example", 0s).destination.status == "5.4.6"); // it would come back to us
}

TEST_CASE("a relay named by a rule that is not there is our mistake: mail waits") {
    const auto config = config_of("[route.\"*\"]\nnext_hop = \"relay.example\"\n");
    const auto scenario =
        scenario_of("[fault.gone]\nhow = \"no_name\"\ndomains = [\"relay.example\"]\nfrom = \"1h\"\n");
    const SimulatedRouter router(config.mta, config.dns, config.routes, scenario);
    CHECK(router.find("a.example", 0s).destination.link == "mx.relay.example");
    CHECK(router.find("a.example", 1h).destination.kind == decide::RouteKind::temporary);
    CHECK(router.find("a.example", 1h).destination.status == "4.1.2");
}
