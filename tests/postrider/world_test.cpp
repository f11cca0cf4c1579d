#include "daemons/postrider/simulate/plot.h"
#include "daemons/postrider/simulate/report.h"
#include "daemons/postrider/simulate/world.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <numeric>

using namespace std::chrono_literals;
namespace simulate = postrider::simulate;

namespace {

// What came of it; also that no message is lost or made up.
simulate::Chronicle play(std::string_view scenario, std::string_view configuration = "") {
    const auto config = config::parse(std::string("[queue]\njitter = 0\n") + std::string(configuration),
                                      "c.toml", {"h.example", "user", 2});
    REQUIRE(config);
    const auto read = simulate::parse(scenario, "s.toml");
    REQUIRE_MESSAGE(read, (read ? "" : read.error().front().to_string()));
    simulate::World world(*config, *read);
    world.run();
    std::uint64_t in = 0, out = 0;
    for (const auto& [name, link] : world.chronicle().links()) {
        in += link.accepted;
        out += link.delivered + link.reports + link.queued;
    }
    CHECK(in > 0);
    CHECK(in == out);
    return world.chronicle();
}

const simulate::Chronicle::Link& link(const simulate::Chronicle& chronicle, const std::string& name) {
    REQUIRE(chronicle.links().contains(name));
    return chronicle.links().at(name);
}

bool told(const simulate::Chronicle& chronicle, std::string_view what) {
    return std::ranges::any_of(chronicle.happenings(),
                               [&](const auto& each) { return each.what.find(what) != std::string::npos; });
}

constexpr std::string_view relay = "[route.\"*\"]\nnext_hop = \"[relay.example]:25\"\n";
constexpr std::string_view traffic = "[world]\nduration = \"12h\"\n[traffic.t]\ndomains = [\"a.example\"]\n";

} // namespace

TEST_CASE("when all is well mail goes at once") {
    const auto chronicle = play(traffic, relay);
    const auto& to = link(chronicle, "[relay.example]");
    CHECK(to.accepted > 6000);
    CHECK(to.queued < 5);
    CHECK(to.reports == 0);
    CHECK(chronicle.happenings().empty());
    for (const auto& row : to.rows) CHECK(row.delay(1) < 2);
}

TEST_CASE("a relay that is down: mail waits, on the ladder, and goes when it is back") {
    for (const char* how : {"refuses", "silent"}) {
        const auto chronicle =
            play(std::string(traffic) +
                     "[trouble.x]\nhosts = \"relay.example\"\nfrom = \"2h\"\nlasts = \"3h\"\nhow = \"" + how +
                     "\"\n",
                 relay);
        const auto& to = link(chronicle, "[relay.example]");
        CHECK(to.rows.at(1).state == "ready");
        CHECK(to.rows.at(3).delivered == 0);
        CHECK(to.rows.at(4).backlog > 1500);
        CHECK(to.rows.at(5).backlog < 5);
        CHECK(to.rows.at(11).state == "ready");
        CHECK(told(chronicle, "in retry after 3 failures"));
        CHECK(told(chronicle, "well again"));
        CHECK(told(chronicle, "the backlog is gone"));
        CHECK(to.rows[5].delay(1) > 2.9 * 3600);
        CHECK(to.rows[5].delay(1) < 3.4 * 3600);
    }
}

TEST_CASE("the configuration's numbers are what is played") {
    const auto chronicle =
        play(std::string(traffic) + "[trouble.x]\nhosts = \"relay.example\"\nlasts = \"11h\"\n",
             "expiry = \"4h\"\ndelay_notice = \"1h\"\n" + std::string(relay));
    const auto& to = link(chronicle, "[relay.example]");
    CHECK(to.reports > 3000);
    CHECK(to.notices > 5000);
    CHECK(to.rows.at(3).reports == 0);
    CHECK(to.rows.at(5).reports > 500);
    CHECK(told(chronicle, "returned to its sender"));
}

TEST_CASE("servers' ways: unknown users, limits, greylists, refusals") {
    const auto unknown = play(std::string(traffic) + "[host.\"relay.example\"]\nunknown = 0.5\n", relay);
    const auto& half = link(unknown, "[relay.example]");
    CHECK(half.reports > half.accepted * 4 / 10);
    CHECK(half.reports < half.accepted * 6 / 10);
    const auto grey = play(std::string(traffic) + "[host.\"relay.example\"]\ngreylist = \"5m\"\n", relay);
    CHECK(link(grey, "[relay.example]").rows.at(6).delay(0.5) > 290);
    CHECK(link(grey, "[relay.example]").rows.at(6).state == "ready");
    const auto limited =
        play(std::string(traffic) + "messages = 36000\n[host.\"relay.example\"]\nconnections = 4\n", relay);
    CHECK(link(limited, "[relay.example]").queued < 100);
    for (const char* how : {"busy", "defers", "drops"}) {
        const auto chronicle =
            play(std::string(traffic) + "[trouble.x]\nhosts = \"relay.example\"\nfrom = \"1h\"\nhow = \"" +
                     how + "\"\n",
                 relay);
        CHECK(link(chronicle, "[relay.example]").rows.at(1).backlog > 500);
        CHECK(link(chronicle, "[relay.example]").rows.at(4).backlog < 20);
    }
    const auto rejected = play(
        std::string(traffic) + "[trouble.x]\nhosts = \"relay.example\"\nfrom = \"1h\"\nhow = \"rejects\"\n",
        relay);
    CHECK(link(rejected, "[relay.example]").reports > 500);
    CHECK(link(rejected, "[relay.example]").reports < 700);
}

TEST_CASE("without a route a domain has its MX hosts; names in trouble keep mail where it is") {
    const auto chronicle = play(std::string(traffic) + R"(
[traffic.other]
domains = ["b.example"]
[traffic.home]
domains = ["h.example"]
[domain."a.example"]
mx = ["mx1.example", "mx2.example"]
[trouble.first]
hosts = ["mx1.example"]
[trouble.names]
how = "no_dns"
domains = ["b.example"]
lasts = "2h"
)");
    CHECK(link(chronicle, "mx1.example;mx2.example").queued < 5); // the second host takes it
    CHECK(link(chronicle, "(not routed)").rows.at(0).backlog > 500);
    CHECK(link(chronicle, "(not routed)").queued == 0);
    CHECK(link(chronicle, "mx.b.example").queued < 5);
    CHECK(link(chronicle, "local").delivered > 6000);
}

TEST_CASE("what no mail had to do with is named") {
    const auto config = config::parse(relay, "c.toml", {"h.example", "user", 2});
    const auto read =
        simulate::parse(std::string(traffic) + "[trouble.x]\nhosts = \"rely.example\"\n", "s.toml");
    REQUIRE(config);
    REQUIRE(read);
    simulate::World world(*config, *read);
    world.run();
    CHECK(world.untouched() == std::vector<std::string>{"host rely.example"});
}

TEST_CASE("the same scenario has the same course") {
    const auto once = simulate::report(play(traffic, relay)), again = simulate::report(play(traffic, relay));
    CHECK(once == again);
    CHECK(once !=
          simulate::report(
              play("[world]\nduration = \"12h\"\nseed = 2\n" + std::string(traffic.substr(8 + 17)), relay)));
    const auto json = simulate::report_json(play(traffic, relay));
    CHECK(json["version"] == 1);
    CHECK(json["links"][0]["link"] == "[relay.example]");
    CHECK(json["links"][0]["intervals"].size() == 12);
}

TEST_CASE("times and numbers") {
    CHECK(simulate::clock_text(0s) == "0:00");
    CHECK(simulate::clock_text(27h + 5s) == "27:00:05");
    CHECK(simulate::wait_text(0.25) == "0.2 s");
    CHECK(simulate::wait_text(95) == "95 s");
    CHECK(simulate::wait_text(3600) == "60 min");
    CHECK(simulate::wait_text(6 * 3600 + 120) == "6 h 2 min");
    CHECK(simulate::short_number(9999) == "9999");
    CHECK(simulate::short_number(12'345) == "12.3k");
    CHECK(simulate::short_number(3'100'000) == "3.1M");
}

TEST_CASE("a drawing") {
    const double values[] = {0, 1, 4, 8, 8, 0.1};
    CHECK(simulate::draw({"mail", simulate::short_number, 4}, values) == R"(           mail
         8 |   ##
           |   ##
         4 |  ###
           | #####
         0 +------
)");
    const double none[] = {0, 0};
    CHECK(simulate::draw({"mail", simulate::short_number, 4}, none) == "           mail\n         0 +--\n");
    CHECK(simulate::time_axis(24, 4h) == "            0:00        2:00\n");
}
