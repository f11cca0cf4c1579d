#include "daemons/common/config/config.h"
#include "daemons/common/process/process_plan.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <set>

using namespace common;
using proto::Role;

TEST_CASE(
    "the plan: every role, one writer per slot, one server per socket, tokens only where the picture has an arrow") {
    config::Config config;
    config.smtpd.workers = 3;
    config.smtp_client.workers = 2;
    CHECK(process_plan(config).size() == 7 + 3 + 2); // nobody who serves metrics where nobody wants them
    config.metrics.listen = {*common::Endpoint::parse("127.0.0.1:9525", 0)};
    config.http.enabled = true;
    config.table_references = {{.table = "mysql:/etc/postrider/users.cf", .key = "virtual_alias.tables"}};
    config.fleet.store = "redis://127.0.0.1:6379";
    const auto plan = process_plan(config);
    CHECK(plan.size() == 11 + 3 + 2);
    std::set<std::string> names;
    std::set<std::uint32_t> slots;
    std::multiset<std::string_view> served;
    for (const auto& each : plan) {
        CHECK(names.insert(each.name).second);
        CHECK(each.stop_phase < stop_phases);
        CHECK(each.as_root == (each.role == Role::local));
        CHECK(each.tcp_listeners == (each.role == Role::smtpd));
        CHECK(each.metrics_listeners == (each.role == Role::metrics));
        CHECK(each.http_listeners == (each.role == Role::http));
        const bool serves_http_clients =
            each.role == Role::queue_manager || each.role == Role::pickup || each.role == Role::events;
        CHECK((std::ranges::find(each.expects, Role::http) != each.expects.end()) ==
              (serves_http_clients || each.role == Role::metrics));
        CHECK(each.secrets == (each.role == Role::smtpd || each.role == Role::smtp_client ||
                               each.role == Role::events || each.role == Role::http || each.role == Role::transfer ||
                               each.role == Role::maps || each.role == Role::fleet));
        if (each.role == Role::smtpd || each.role == Role::pickup || each.role == Role::bounce)
            CHECK(slots.insert(each.instance).second);
        served.insert(each.local_sockets.begin(), each.local_sockets.end());
        // It reports deliveries to the one, TLS sessions to the other, figures to the third.
        const bool hears_of_deliveries =
            each.role == Role::queue_manager || each.role == Role::router || each.role == Role::metrics;
        CHECK((std::ranges::find(each.expects, Role::smtp_client) != each.expects.end()) == hears_of_deliveries);
        CHECK(std::ranges::find(each.expects, Role::metrics) == each.expects.end()); // it asks nobody for anything
    }
    CHECK(names.contains("events"));
    CHECK(names.contains("fleet"));
    CHECK_FALSE(names.contains("transfer")); // no nodes
    CHECK(slots == std::set<std::uint32_t>{1, 2, 16, 17, 18});
    CHECK(names.contains("smtpd/2"));
    for (const auto& socket : local_sockets()) CHECK(served.count(socket.name) == (socket.name == "master" ? 0 : 1));
}
