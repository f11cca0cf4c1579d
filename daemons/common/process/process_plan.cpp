#include "daemons/common/process/process_plan.h"
#include "daemons/common/config/config.h"
#include "daemons/common/lookup/format/specification.h"
#include <algorithm>
#include <fmt/format.h>

namespace common {

using proto::Role;

bool names_databases(const config::Config& config) {
    return std::ranges::any_of(config.table_references, [](const auto& named) {
        const auto what = tables::Specification::parse(named.table);
        return what && tables::is_database(what->kind);
    });
}

std::vector<PlannedProcess> process_plan(const config::Config& config) {
    std::vector<PlannedProcess> plan;
    const auto add = [&](Role role, std::uint32_t instance = 0) -> PlannedProcess& {
        return plan.emplace_back(PlannedProcess{role, instance, std::string(proto::name_of(role))});
    };
    const auto add_workers = [&](Role role, std::uint32_t count, std::uint32_t first, auto finish) {
        for (std::uint32_t n = 0; n < count; ++n) {
            auto& worker = add(role, first + n);
            worker.name += fmt::format("/{}", n);
            finish(worker);
        }
    };

    if (config.metrics.enabled()) {
        auto& metrics = add(Role::metrics);
        metrics.metrics_listeners = true;
        metrics.local_sockets = {"metrics"};
        metrics.expects = {Role::smtpd,       Role::pickup, Role::categorizer, Role::router, Role::queue_manager,
                           Role::smtp_client, Role::local,  Role::bounce,      Role::events, Role::http,
                           Role::transfer,    Role::maps,   Role::fleet};
        metrics.stop_phase = 3;
    }

    if (config.history.enabled) {
        auto& events = add(Role::events);
        events.local_sockets = {"events", "hooks"};
        events.expects = {Role::http};
        events.secrets = true;
        events.stop_phase = 3;
    }

    if (config.http.served()) {
        auto& http = add(Role::http);
        http.local_sockets = {"http"};
        http.http_listeners = http.secrets = true;
    }

    if (!config.nodes.empty()) {
        auto& transfer = add(Role::transfer);
        transfer.secrets = true;
        transfer.stop_phase = 2;
    }

    if (names_databases(config)) {
        auto& maps = add(Role::maps);
        maps.local_sockets = {"maps"};
        maps.secrets = true;
        maps.stop_phase = 3;
    }

    if (config.fleet.enabled()) {
        auto& fleet = add(Role::fleet);
        fleet.local_sockets = {"fleet", "fleet-keys"};
        fleet.expects = {Role::smtpd, Role::pickup};
        fleet.secrets = true;
        fleet.stop_phase = 3;
    }

    auto& queue = add(Role::queue_manager);
    queue.local_sockets = {"queue-manager", "control", "showq"};
    queue.expects = {Role::smtpd,       Role::pickup, Role::bounce, Role::categorizer, Role::router,
                     Role::smtp_client, Role::local,  Role::http,   Role::transfer,    Role::fleet};
    queue.stop_phase = 1;

    auto& categorizer = add(Role::categorizer);
    categorizer.local_sockets = {"categorizer"};
    categorizer.expects = {Role::smtpd, Role::pickup};
    categorizer.stop_phase = 2;

    auto& router = add(Role::router);
    router.local_sockets = {"router"};
    router.expects = {Role::smtp_client};
    router.stop_phase = 3;

    auto& bounce = add(Role::bounce, spool::report_slot);
    bounce.stop_phase = 2;

    auto& local = add(Role::local);
    local.local_sockets = {"local"};
    local.expects = {Role::categorizer};
    local.as_root = true;
    local.stop_phase = 2;

    add_workers(Role::smtp_client, config.smtp_client.workers, 0, [](PlannedProcess& p) {
        p.secrets = true;
        p.stop_phase = 2;
    });

    auto& pickup = add(Role::pickup, spool::submission_slot);
    pickup.local_sockets = {"submit", "pickup"};
    pickup.expects = {Role::http};

    add_workers(Role::smtpd, config.smtpd.workers, first_smtpd_slot,
                [](PlannedProcess& p) { p.tcp_listeners = p.secrets = true; });
    return plan;
}

const std::vector<LocalSocket>& local_sockets() {
    static const std::vector<LocalSocket> sockets = {
        {"queue-manager", "private/queue-manager", 0600, false},
        {"categorizer", "private/categorizer", 0600, false},
        {"local", "private/local", 0600, false},
        {"router", "private/router", 0600, false},
        {"metrics", "private/metrics", 0600, false},
        {"pickup", "private/pickup", 0600, false},
        {"events", "private/events", 0600, false},
        {"maps", "private/maps", 0600, false, true},
        {"fleet-keys", "private/fleet", 0600, false, true},
        {"submit", "submit", 0666, false},
        {"showq", "showq", 0666, false},
        {"control", "control", 0660, true},
        {"hooks", "hooks", 0660, true},
        {"http", "http.sock", 0660, true},
        {"fleet", "fleet", 0660, true, true},
        {"master", "master", 0660, true},
    };
    return sockets;
}

} // namespace common
