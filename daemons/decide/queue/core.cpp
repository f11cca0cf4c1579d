// The frame around every event: the clocks, the timers, and giving links their turn.
#include "daemons/decide/queue/core.h"
#include <algorithm>

namespace decide::queue {

namespace {
constexpr auto step_noticed = std::chrono::seconds(2); // more than that between the clocks is a step
}

Core::Core(const Settings& settings, std::uint64_t seed, smtp::Now now)
    : settings_(settings), random_(seed), start_(now.monotonic),
      offset_(now.wall.time_since_epoch() - now.monotonic.time_since_epoch()), now_(now),
      messages_by_id_(IdOf{&messages_}), flows_(deliveries_), waiting_(deliveries_), queue_timers_(queues_),
      link_timers_(links_) {
    policies_ = {RetryPolicy{}, RetryPolicy{.name = "exchange"}};
    make_rules();
    // A lone agent may be asked for room at once.
    for (Reservation& each : reservation_) each.since = now.monotonic - settings.glitch_interval;
}

Seconds Core::seconds(smtp::Monotonic t) const {
    return static_cast<Seconds>(std::chrono::floor<std::chrono::seconds>(t - start_).count() + 1);
}

std::uint32_t Core::wall_seconds() const {
    return static_cast<std::uint32_t>(
        std::chrono::floor<std::chrono::seconds>(now_.wall.time_since_epoch()).count());
}

void Core::enter(smtp::Now now, Actions& out) {
    now_ = now;
    out_ = &out;
    forgotten_.clear();
    const smtp::Duration offset = now.wall.time_since_epoch() - now.monotonic.time_since_epoch();
    const smtp::Duration by = offset - offset_;
    offset_ = offset;
    if (by > step_noticed || by < -step_noticed) clock_stepped(by);
}

// Ladders follow the clock that never steps. Schedules follow the wall; ages must not grow or shrink at a
// stroke.
void Core::clock_stepped(smtp::Duration by) {
    const std::vector<Slot> waiting = waiting_.slots();
    for (Slot slot : waiting) {
        if (!deliveries_[slot].scheduled) continue;
        take_out(slot);
        deliveries_[slot].due = now_.monotonic;
        place(slot, End::back);
    }
    if (by > smtp::Duration{}) {
        last_wait_end_ = seconds(now_.monotonic) + 1; // nothing expires before it was tried again
        return;
    }
    const auto before = std::chrono::floor<std::chrono::seconds>((now_.wall - by).time_since_epoch()).count();
    for (Slot slot = 1; slot <= messages_.top(); ++slot) {
        Message& m = messages_[slot];
        if (m.id == 0) continue;
        m.scheduled = m.scheduled && m.free_from > before; // its time may have passed while it was held
        if (m.young || m.scheduled) continue;
        m.free_from = std::min(m.free_from, wall_seconds());
        watch(slot);
    }
}

void Core::leave() {
    pump_categorizer();
    reset_routes();
    for (bool again = true; again;) {
        pump_routes();
        for (std::size_t kind = 0; kind < 2; ++kind)
            if (!isolated_[kind].empty() || reservation_[kind].agent) pump_isolated(static_cast<AgentKind>(kind));
        for (std::size_t n = 0; n < links_to_schedule_.size(); ++n) {
            const Slot link = links_to_schedule_[n];
            links_[link].needs_scheduling = false;
            pump(link);
        }
        links_to_schedule_.clear();
        if (connection_freed_) serve_waiting_links();
        pump_routes(); // handing out may have found a route to be out of date
        again = !links_to_schedule_.empty();
    }
    pump_reports();
}

void Core::timer() {
    const smtp::Monotonic now = now_.monotonic;
    while (!waiting_.empty() && waiting_.next() <= now) due_now(waiting_.top());
    while (!queue_timers_.empty() && queue_timers_.next() <= now) queue_timer(queue_timers_.top());
    while (!link_timers_.empty() && link_timers_.next() <= now) link_timer(link_timers_.top());
    while (!idle_.empty() && connections_[idle_.head].idle_since + settings_.connection_idle <= now)
        close(idle_.head);
    const auto settled =
        static_cast<Seconds>(std::chrono::ceil<std::chrono::seconds>(settings_.settle_after).count());
    while (!young_.empty() && messages_[young_.head].bucket + settled <= seconds(now))
        leave_incoming(young_.head);
    // Each once: a message overdue is entered again, but never for now.
    while (!watched_.empty() && watched_.begin()->first <= wall_seconds())
        sweep(watched_.begin()->second.head);
}

std::optional<smtp::Monotonic> Core::next_timer() const {
    std::optional<smtp::Monotonic> next;
    auto sooner = [&](smtp::Monotonic t) { next = next ? std::min(*next, t) : t; };
    if (!waiting_.empty()) sooner(waiting_.next());
    if (!queue_timers_.empty()) sooner(queue_timers_.next());
    if (!link_timers_.empty()) sooner(link_timers_.next());
    if (!idle_.empty()) sooner(connections_[idle_.head].idle_since + settings_.connection_idle);
    if (!young_.empty())
        sooner(start_ + std::chrono::ceil<std::chrono::seconds>(settings_.settle_after) +
               std::chrono::seconds(messages_[young_.head].bucket - 1));
    if (!watched_.empty())
        sooner(monotonic_of(smtp::WallTime(std::chrono::seconds(watched_.begin()->first))));
    if (reports_wanted()) sooner(reports_due_.begin()->first);
    if (reset_at_ && router_up_ && reset_open_ == 0) sooner(*reset_at_);
    if (const auto alone = isolation_timer()) sooner(*alone);
    return next;
}

} // namespace decide::queue
