#include "daemons/queue-manager/engine_driver/health_snapshot.h"
#include "daemons/queue-manager/conversion/snapshot_host.h"
#include "libspool/format/fields.h"
#include <algorithm>
#include <utility>

namespace queue_manager {

namespace {

// Reading this many takes only a moment on any disk; by then there is work, and the directories follow.
constexpr std::size_t read_first_at_most = 1000;

struct SavedReason {
    decide::queue::Reason why;
    static void fields(auto& m, auto& f) {
        f(1, m.why.status);
        f(2, m.why.text);
        f(3, m.why.remote_reply);
        f(4, m.why.remote_host);
        f(5, m.why.stage);
        f(6, m.why.code);
        f(7, m.why.details.error);
        f(8, m.why.details.timed_out);
        f(9, m.why.details.implicit_tls);
        f(10, m.why.details.demand);
        f(11, m.why.at);
        f(12, m.why.by_srv);
    }
};
struct SavedFailure {
    smtp::WallTime time{};
    bool in_session = false;
    SavedReason reason;
    static void fields(auto& m, auto& f) {
        f(1, m.time);
        f(2, m.in_session);
        f(7, m.reason); // 3 to 6: formerly
    }
};
struct Kept {
    bool link = false, mx = false, down = false, route = false;
    std::string name, rule;
    SavedReason reason;
    decide::queue::Health health = decide::queue::Health::ready;
    std::uint32_t failures = 0;
    smtp::WallTime due{}, failing_since{}, retry_since{};
    std::vector<SnapshotHost> hosts;
    std::vector<SavedFailure> history;
    static void fields(auto& m, auto& f) {
        f(1, m.link);
        f(2, m.mx);
        f(3, m.down);
        f(4, m.name);
        f(5, m.rule);
        f(10, m.health);
        f(11, m.failures);
        f(12, m.due);
        f(13, m.failing_since);
        f(14, m.retry_since);
        f(15, m.hosts);
        f(16, m.history);
        f(17, m.route);
        f(18, m.reason); // 6 to 9: formerly
    }
};
struct SavedState {
    std::vector<Kept> all;
    static void fields(auto& m, auto& f) { f(1, m.all); }
};

} // namespace

spool::Result<> save_snapshot(spool::Disk& disk, const decide::queue::Engine& engine, const LinkHostsByName& links,
                              smtp::Now now) {
    SavedState kept;
    for (const auto& each : engine.health_snapshot()) {
        Kept k{.link = each.link, .mx = each.mx, .down = each.down, .route = each.route, .name = each.name};
        k.reason = {each.last_error};
        k.health = each.health;
        k.failures = each.failures;
        k.due = each.due;
        k.failing_since = each.failing_since;
        k.retry_since = each.retry_since;
        if (const auto link = links.find(each.name); each.link && link != links.end()) {
            k.rule = link->second.rule;
            for (const auto& host : link->second.hosts) k.hosts.push_back({host});
        }
        for (const auto& [time, phase, reason] : each.history)
            k.history.push_back({time, phase == decide::queue::Phase::session, {reason}});
        kept.all.push_back(std::move(k));
    }
    spool::Snapshot snapshot{now.wall, {}, spool::fields::Writer::bytes_of(kept)};
    for (const auto& each : engine.due_next(read_first_at_most, now))
        snapshot.messages.push_back({each.id, each.location});
    return spool::write_snapshot(disk, snapshot);
}

RecalledState recall_snapshot(spool::Disk& disk, common::Log& log) {
    auto snapshot = spool::take_snapshot(disk);
    if (!snapshot) log.warning("index/snapshot: {}", snapshot.error().what);
    if (!snapshot || !*snapshot) return {};
    RecalledState out;
    out.first = std::move((*snapshot)->messages);
    out.first.resize(std::min(out.first.size(), read_first_at_most));
    const auto kept = spool::fields::read<SavedState>((*snapshot)->state, "snapshot");
    if (!kept) return out;
    auto& all = out.health.emplace();
    for (const Kept& k : kept->all) {
        all.push_back({.link = k.link,
                       .route = k.route,
                       .name = k.name,
                       .mx = k.mx,
                       .down = k.down,
                       .health = k.health,
                       .failures = k.failures,
                       .due = k.due,
                       .failing_since = k.failing_since,
                       .retry_since = k.retry_since,
                       .last_error = k.reason.why});
        using decide::queue::Phase;
        for (const auto& each : k.history)
            all.back().history.push_back(
                {each.time, each.in_session ? Phase::session : Phase::connecting, each.reason.why});
        if (!k.link || k.hosts.empty()) continue;
        auto& link = out.links[k.name];
        link.mx = k.mx;
        link.rule = k.rule;
        for (const auto& [host] : k.hosts) link.hosts.push_back(host);
    }
    return out;
}

} // namespace queue_manager
