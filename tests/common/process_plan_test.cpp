#include "daemons/common/process_plan.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <set>

using namespace common;
using proto::Role;

TEST_CASE("the plan: every role, one writer per slot, every socket served by one, tokens only where the picture has an arrow") {
    config::Config config;
    config.smtpd.workers = 3;
    config.smtp_client.workers = 2;
    const auto plan = process_plan(config);
    CHECK(plan.size() == 6 + 3 + 2);
    std::set<std::string> names;
    std::set<std::uint32_t> slots;
    std::multiset<std::string_view> served;
    for (const auto& each : plan) {
        CHECK(names.insert(each.name).second);
        CHECK(each.stop_phase < stop_phases);
        CHECK(each.as_root == (each.role == Role::local));
        CHECK(each.tcp_listeners == (each.role == Role::smtpd));
        CHECK(each.secrets == (each.role == Role::smtpd || each.role == Role::smtp_client));
        if (each.role == Role::smtpd || each.role == Role::pickup || each.role == Role::bounce)
            CHECK(slots.insert(each.instance).second);
        served.insert(each.local_sockets.begin(), each.local_sockets.end());
        // It reports deliveries to the one, TLS sessions to the other.
        const bool hears_of_deliveries = each.role == Role::queue_manager || each.role == Role::router;
        CHECK((std::ranges::find(each.expects, Role::smtp_client) != each.expects.end()) == hears_of_deliveries);
    }
    CHECK(slots == std::set<std::uint32_t>{1, 2, 16, 17, 18});
    CHECK(names.contains("smtpd/2"));
    for (const auto& socket : local_sockets()) CHECK(served.count(socket.name) == (socket.name == "master" ? 0 : 1));
}
