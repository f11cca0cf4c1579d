#include "daemons/common/config/config.h"
#include "daemons/queue-manager/control/configured_names.h"
#include <doctest/doctest.h>

using namespace queue_manager;

TEST_CASE("configured names: next hops that an operator may give, and links that routes lead to") {
    config::Config config;
    auto& route = config.routes.emplace_back();
    route.pattern = "partners";
    route.next_hops.push_back({*decide::NextHop::parse("[relay.example.net]:587")});
    CHECK(next_hop_error("partners", config).empty());
    CHECK(next_hop_error("[192.0.2.1]:25", config).empty());
    CHECK(next_hop_error("example.org", config).empty());
    CHECK(next_hop_error("example", config).starts_with("\"example\" is not a valid next hop: expected [host]:port"));
    CHECK(next_hop_error("[", config).starts_with("\"[\" is not a valid next hop"));
    CHECK(is_routed("[relay.example.net]:587", config));
    CHECK_FALSE(is_routed("[relay.example.net]:25", config));
    CHECK_FALSE(is_routed("[relay.example.net]:587@bulk", config));
}

TEST_CASE("configured names: the delivery agents' user") {
    config::Config config;
    config.mta.user = "mail";
    config.mta.users = false;
    CHECK(agent_user(config).empty());
    config.mta.users = true;
    CHECK(agent_user(config) == "mail");
}
