// Warnings about certificates, with the dates they end on.
#include "daemons/common/commands/config_warnings.h"
#include "daemons/common/config/config.h"
#include <doctest/doctest.h>

using namespace std::chrono;

TEST_CASE("a certificate without a well-defined end, RFC 5280, 4.1.2.5") {
    constexpr smtp::WallTime no_end = sys_days(year(9999) / 12 / 31) + 24h - 1s;
    CHECK(common::expiry_warning("server.pem", no_end, sys_days(year(2026) / 11 / 24)).empty());
    CHECK(
        common::expiry_warning("server.pem", no_end, no_end - 49h) ==
        "server.pem: the certificate expires in 2 days (9999-12-31): renew it; the file is read again within a minute");
}

TEST_CASE("a table that has every domain relays for everybody") {
    config::Config config;
    config.relay.domain_tables = {"text:/x"};
    CHECK(common::config_warnings(config, {}).empty());
    config.addresses.virtual_mailbox.domain_tables = {"static:all"};
    CHECK(common::config_warnings(config, {}).empty());
    config.relay.domain_tables = {"text:/x", "static:all"};
    CHECK(common::config_warnings(config, {}) ==
          std::vector<std::string>{"relay.domain_tables: static:all has every domain: mail is relayed from all clients "
                                   "to all domains"});
}

TEST_CASE("rates that cannot be shared") {
    config::Config config;
    auto& route = config.queue.routes["x.example"];
    route.share_rates = true;
    CHECK(common::config_warnings(config, {}) ==
          std::vector<std::string>{"route.\"x.example\".share_rates: the route has no rate: set messages_per_second, "
                                   "messages_per_hour or connections_per_second"});
    route.messages_per_hour = 100;
    CHECK(common::config_warnings(config, {}) ==
          std::vector<std::string>{
              "route.\"x.example\".share_rates: fleet.store is not set: each node has the whole rate"});
    config.fleet.store = "redis://127.0.0.1";
    REQUIRE(common::config_warnings(config, {}).size() == 1);
    CHECK(common::config_warnings(config, {})[0].contains("fleet.expected_nodes is not set"));
    config.fleet.expected_nodes = 3;
    CHECK(common::config_warnings(config, {}).empty());
}
