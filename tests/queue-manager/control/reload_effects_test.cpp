// What a changed configuration would do to queued mail, before it is taken over.
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/queue-manager/control/reload_effects.h"
#include <algorithm>
#include <doctest/doctest.h>

using namespace queue_manager;
using decide::queue::QueueInfo;
using What = ReloadEffect::What;

namespace {

config::Config parsed(std::string_view text) {
    const auto out = config::parse("mta.hostname = \"host.example\"\n" + std::string(text), "test.toml");
    REQUIRE_MESSAGE(out, (out ? "" : out.error().front().to_string()));
    return *out;
}

QueueInfo queue(std::string name, std::uint32_t deliveries = 7) {
    return {.name = name, .link = "link of " + name, .deliveries = deliveries};
}

// "rerouted: from … to …", one for each effect.
std::vector<std::string> effects(std::string_view before, std::string_view after, const QueueInfo& of) {
    std::vector<std::string> out;
    for (const auto& each : reload_effects(parsed(before), parsed(after), std::vector{of})) {
        CHECK(each.queue == of.name);
        CHECK(each.link == of.link);
        CHECK(each.deliveries == (each.what == What::returned && of.of_link ? of.due : of.deliveries));
        out.push_back(std::string(word_of(each.what)) + ": " + each.how);
    }
    return out;
}
using Texts = std::vector<std::string>;

} // namespace

TEST_CASE("what does not change does nothing, whatever else does") {
    const auto* relay = "[route.\"*\"]\nnext_hop = \"[192.0.2.1]\"\n";
    CHECK(effects(relay, relay, queue("x.example")) == Texts{});
    CHECK(effects("", "[route.\"x.example\"]\nnext_hop = \"mx\"\n", queue("x.example")) == Texts{});
    CHECK(effects("", "[route.\"y.example\"]\nnext_hop = \"[192.0.2.1]\"\n", queue("x.example")) == Texts{});
    CHECK(effects("", relay, queue("x.example", 0)) == Texts{});                // nothing is queued
    CHECK(effects("", relay, queue("store:local")) == Texts{});                 // it goes nowhere
    CHECK(effects("", relay, queue("via:[192.0.2.9]:25")) == Texts{});          // an operator's word
    CHECK(effects("", "queue.expiry = \"1d\"", queue("x.example")) == Texts{}); // recorded at acceptance
}

TEST_CASE("mail that would be rerouted") {
    CHECK(effects("", "[route.\"*\"]\nnext_hop = \"[192.0.2.1]:587\"\n", queue("x.example")) ==
          Texts{"rerouted: from its own MX hosts to [192.0.2.1]:587"});
    CHECK(effects("[route.\".example\"]\nnext_hop = [\"[192.0.2.1]\", \"[192.0.2.2]\"]\n", "",
                  queue("x.example@bulk")) == Texts{"rerouted: from [192.0.2.1], [192.0.2.2] to its own MX hosts"});
    CHECK(effects("[route.\"*\"]\nnext_hop = \"[192.0.2.1]\"\n",
                  "[route.\"*\"]\nnext_hop = \"[192.0.2.1]\"\n[route.\"x.example\"]\nnext_hop = \"mx\"\n",
                  queue("x.example")) == Texts{"rerouted: from [192.0.2.1] to its own MX hosts"});
}

TEST_CASE("mail that would be returned to the sender") {
    QueueInfo refused = queue("x.example");
    refused.of_link = true;
    refused.due = 3;
    refused.last_error.stage = smtp::Stage::auth;
    const std::string route = "[route.\"x.example\"]\nnext_hop = \"[192.0.2.1]\"\n";
    CHECK(effects(route, route + "auth_failure = \"return\"\n", refused) ==
          Texts{"returned: auth_failure is \"return\", and its link's credentials are refused"});
    refused.last_error.stage = smtp::Stage::connect;
    CHECK(effects(route, route + "auth_failure = \"return\"\n", refused) == Texts{});
}

TEST_CASE("stricter limits are told, looser ones are not") {
    const std::string route = "[route.\"x.example\"]\nnext_hop = \"[192.0.2.1]\"\n";
    CHECK(effects(route, route + "connections = 2\nmessages_per_hour = 10\n", queue("x.example")) ==
          Texts{"limited: connections 100 → 2, messages_per_hour without limit → 10"});
    CHECK(effects(route + "connections = 2\nmessages_per_hour = 10\n", route, queue("x.example")) == Texts{});
    CHECK(effects("", "queue.connections_mx = 3", queue("x.example")) == Texts{"limited: connections 20 → 3"});
    CHECK(effects(route, route + "\n[queue]\nconnections_mx = 3\n", queue("x.example")) == Texts{});
}

TEST_CASE("rates that become those of all nodes") {
    const std::string fleet = "mta.node = \"mx1\"\n[fleet]\nstore = \"redis://192.0.2.9\"\n";
    const std::string route = "[route.\"x.example\"]\nnext_hop = \"[192.0.2.1]\"\nmessages_per_hour = 10\n";
    const std::string shared = route + "share_rates = true\n";
    CHECK(effects(fleet + route, fleet + shared, queue("x.example")) ==
          Texts{"limited: its rates are shared by all nodes"});
    CHECK(effects(shared, fleet + shared, queue("x.example")) == Texts{"limited: its rates are shared by all nodes"});
    CHECK(effects(fleet + shared, fleet + shared, queue("x.example")) == Texts{});
    CHECK(effects(fleet + shared, fleet + route, queue("x.example")) == Texts{});
    CHECK(effects(route, shared, queue("x.example")) == Texts{}); // alone
}

TEST_CASE("other times, more TLS, other addresses") {
    const std::string route = "[route.\"x.example\"]\nnext_hop = \"[192.0.2.1]\"\n";
    const std::string policy = "\n[retry.slowly]\nkind = \"fixed\"\ninterval = \"1h\"\nattempts = 3\n";
    const auto named = effects(route + policy, route + "retry_policy = \"slowly\"\n" + policy, queue("x.example"));
    CHECK(named == Texts{"rescheduled: retry_policy exchange → slowly, for mail without one of its own"});
    CHECK(effects("", "queue.retry_interval = \"20m\"", queue("x.example")) ==
          Texts{"rescheduled: the retry schedule of its link and queue"});
    CHECK(effects(route, route + "tls = \"verify\"\n", queue("x.example")) == Texts{"stricter_tls: tls sts → verify"});
    CHECK(effects("", "smtp_client.tls = \"may\"", queue("x.example")) == Texts{});
    const std::string pool = "\n[pool.bulk]\naddresses = [\"192.0.2.7\"]\n";
    CHECK(effects(route + pool, route + "pool = \"bulk\"\n" + pool, queue("x.example")) ==
          Texts{"other_source: pool none → bulk"});
    CHECK(effects(route + pool, route + "pool = \"bulk\"\n" + pool, queue("x.example@other")) == Texts{});
}
