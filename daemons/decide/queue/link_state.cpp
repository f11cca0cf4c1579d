// Links that are down and what follows: the router is told, mail moves, probes without mail bring them back.
#include "daemons/decide/queue/core.h"
#include <algorithm>

namespace decide::queue {

namespace {

constexpr auto between_resets = std::chrono::minutes(1);

} // namespace

// ---- down and up ----

void Core::mark_down(Slot link) {
    Link& l = links_[link];
    l.down = true;
    l.good_since.reset();
    emit(LinkState{l.name, true});
    schedule_reset();
}

void Core::mark_up(Slot link) {
    Link& l = links_[link];
    l.down = false;
    l.good_since.reset();
    emit(LinkState{l.name, false});
    schedule_reset();
}

// Nothing goes over a link that is down as long as there is another way: it is tried without mail, on its
// ladder.
void Core::probe(Slot link) {
    Link& l = links_[link];
    if (l.health.probing || !l.connections.empty()) return;
    if (const auto due = std::max(l.health.due, l.address_limit_until); now_.monotonic < due) {
        link_timers_.bring_forward(link, due);
        return;
    }
    Agent* by = open_ < settings_.connections_total ? least_busy(l.kind) : nullptr;
    if (!by) {
        link_timers_.bring_forward(link, now_.monotonic + settings_.glitch_interval);
        return;
    }
    const Slot slot = make_connection(link, *by, none);
    connections_[slot].probe = true;
    l.health.probing = true;
}

void Core::probe_succeeded(Slot link) {
    Link& l = links_[link];
    if (!l.down || l.offer > 0 ||
        (l.good_since && now_.monotonic - *l.good_since >= settings_.link_up_after)) {
        link_succeeded(link);
        return;
    }
    if (!l.good_since) l.good_since = now_.monotonic;
    l.health.due = *l.good_since + settings_.link_up_after;
    link_timers_.bring_forward(link, l.health.due);
}

// ---- reset routes ----

void Core::schedule_reset() {
    const smtp::Monotonic earliest =
        last_reset_ == smtp::Monotonic{} ? now_.monotonic : last_reset_ + between_resets;
    const smtp::Monotonic at = std::max(earliest, now_.monotonic);
    reset_at_ = reset_at_ ? std::min(*reset_at_, at) : at;
}

// Every queue that goes by a configured route is asked about anew.
void Core::reset_routes() {
    if (!reset_at_ || now_.monotonic < *reset_at_ || !router_up_ || reset_open_ > 0) return;
    reset_at_.reset();
    last_reset_ = now_.monotonic;
    reset_moved_ = reset_queues_ = 0;
    reset_failed_ = false;
    for (Slot slot = 1; slot <= queues_.top(); ++slot) {
        Queue& q = queues_[slot];
        if (q.name.empty() || q.route != RouteState::known || q.link == none || links_[q.link].mx) continue;
        q.route_until = now_.monotonic;
        if (q.deliveries == 0) continue;
        q.resetting = true;
        ++reset_open_;
        ++reset_queues_;
        queue_lookup(slot);
    }
    if (reset_open_ == 0) emit(NoticeReset{0, 0, {}});
}

void Core::route_reset(Slot queue, bool found, bool moved) {
    Queue& q = queues_[queue];
    if (!q.resetting) return;
    q.resetting = false;
    reset_moved_ += moved ? 1 : 0;
    reset_failed_ = reset_failed_ || !found;
    if (--reset_open_ > 0) return;
    emit(NoticeReset{reset_queues_, reset_moved_, now_.monotonic - last_reset_});
    if (reset_failed_ && !reset_at_) reset_at_ = now_.monotonic + settings_.reset_routes_retry;
}

// ---- over a clean restart ----

std::vector<HealthSnapshot> Core::health_snapshot() const {
    std::vector<HealthSnapshot> out;
    const auto keep = [&](const HealthState& h, HealthSnapshot r) {
        r.health = h.health;
        r.failures = h.failures;
        r.due = wall_of(h.due);
        r.failing_since = h.failing_since;
        r.last_error = h.last_error;
        out.push_back(std::move(r));
    };
    for (Slot slot = 1; slot <= links_.top(); ++slot) {
        const Link& l = links_[slot];
        if (l.name.empty() || (l.health.health == Health::ready && !l.down)) continue;
        keep(l.health,
             {.link = true,
              .name = l.name,
              .mx = l.mx,
              .down = l.down,
              .retry_since = l.retry_since == smtp::Monotonic{} ? smtp::WallTime{} : wall_of(l.retry_since),
              .history = l.history});
    }
    for (Slot slot = 1; slot <= queues_.top(); ++slot) {
        const Queue& q = queues_[slot];
        if (!q.name.empty() && q.health.health != Health::ready) keep(q.health, {.name = q.name});
    }
    for (Slot slot = 1; slot <= queues_.top(); ++slot) {
        const Queue& q = queues_[slot];
        if (q.name.empty() || q.deliveries == 0 || !unroutable(q)) continue;
        out.push_back({.route = true, .name = q.name, .failures = q.route_failures, .due = wall_of(q.route_until),
                       .failing_since = q.route_failing_since, .last_error = q.route_reason});
    }
    for (const auto* others : {&snapshot_links_, &snapshot_queues_, &snapshot_routes_}) // not met again since the start
        for (const auto& [name, each] : *others)
            if (each.due + settings_.retry_interval_after > now_.wall) out.push_back(each);
    return out;
}

void Core::restore(const std::vector<HealthSnapshot>& all) {
    for (const HealthSnapshot& each : all) {
        auto& of = each.link ? snapshot_links_ : each.route ? snapshot_routes_ : snapshot_queues_;
        of.insert_or_assign(each.name, each);
        if (each.link && each.down) link_for(each.name, AgentKind::smtp, each.mx);
    }
}

void Core::restore_health(HealthState& h, const HealthSnapshot& from) {
    h.health = from.health;
    h.failures = from.failures;
    h.failing_since = from.failing_since;
    h.last_error = from.last_error;
    // A clock that was set back must not keep it for ever.
    h.due = monotonic_of(std::min(std::max(from.due, now_.wall), now_.wall + longest_wait()));
}

} // namespace decide::queue
