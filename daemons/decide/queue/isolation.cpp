// Poison: a delivery that was in flight when an agent crashed is next tried alone, on an agent that has
// nothing else in flight. With several agents one is set aside for that; a lone agent serves suspects when it
// is idle, or lets its work run out for them now and then.
#include "daemons/decide/queue/core.h"
#include <algorithm>

namespace decide::queue {

namespace {
constexpr auto drain_at_most = std::chrono::seconds(60); // a lone agent, to become empty
constexpr auto turn = std::chrono::seconds(10);          // a lone agent's time for suspects
// Suspects looked at at a time: whose link or queue has to wait goes behind the others, and who was not looked at has
// its turn a little later.
constexpr std::size_t look_at_most = 256;
constexpr auto look_on = std::chrono::seconds(1);

// From when a link may open a connection for it: its rates and the pauses after push-back hold for all mail.
smtp::Monotonic opens_at(const Link& l) {
    const auto when_ready = l.health.health == Health::ready ? std::max(l.not_before, l.next_connection) : smtp::Monotonic{};
    return std::max({l.next_message, l.address_limit_until, when_ready});
}
} // namespace

AgentKind Core::kind_of(Slot delivery) const {
    const Delivery& d = deliveries_[delivery];
    return queues_[d.queue].route == RouteState::store ? AgentKind::local : AgentKind::smtp;
}

// May it be tried now? Where little may be tried, healthy mail goes first.
bool Core::may_try_isolated(const Delivery& d) const {
    const Queue& q = queues_[d.queue];
    if (q.link == none || q.is_paused()) return false;
    const Link& l = links_[q.link];
    if (l.paused || l.open() >= l.window.limit() || now_.monotonic < opens_at(l)) return false;
    if (q.health.health == Health::ready && l.health.health == Health::ready) return true;
    const auto may = [&](const HealthState& h) {
        return h.health == Health::ready || (!h.probing && now_.monotonic >= h.due);
    };
    return may(q.health) && may(l.health) && l.offer == 0;
}

Slot Core::next_isolated(AgentKind kind) {
    if (paused_ || open_ >= settings_.connections_total) return none;
    auto& list = isolated_[static_cast<std::size_t>(kind)];
    const std::size_t looks = std::min<std::size_t>(list.count, look_at_most);
    for (std::size_t looked = 0; looked < looks; ++looked) {
        const Slot slot = list.head;
        if (may_try_isolated(deliveries_[slot])) return slot;
        list.remove(deliveries_, slot);
        list.push(deliveries_, slot, End::back);
    }
    return none;
}

void Core::pump_isolated(AgentKind kind) {
    auto& list = isolated_[static_cast<std::size_t>(kind)];
    auto& reservation = reservation_[static_cast<std::size_t>(kind)];
    auto give_up = [&] {
        if (!reservation.agent) return;
        reservation.agent.reset();
        reservation.since = now_.monotonic;
        for (Slot slot = 1; slot <= links_.top(); ++slot)
            if (!links_[slot].name.empty() && links_[slot].offer > 0) schedule(slot);
        connection_freed_ = true;
    };
    Agent* mine = reservation.agent ? agent(*reservation.agent) : nullptr;
    const Slot slot = next_isolated(kind);
    if (mine && mine->in_flight > 0) { // at work for a suspect, or still for others
        const bool lone = std::ranges::count(agents_, kind, &Agent::kind) == 1;
        bool serving = false;
        for (Slot c = 1; c <= connections_.top() && !serving; ++c)
            serving =
                connections_[c].link != none && connections_[c].agent == mine->id && connections_[c].isolated;
        if (lone && !serving && now_.monotonic - reservation.since >= drain_at_most) give_up();
        return;
    }
    if (slot == none) {
        give_up();
        return;
    }
    if (!mine) {
        std::size_t others = 0;
        for (Agent& each : agents_) {
            if (each.kind != kind) continue;
            ++others;
            if (each.connections >= each.capacity) continue;
            if (!mine || each.in_flight < mine->in_flight) mine = &each;
        }
        if (!mine) return;
        if (others == 1 && mine->in_flight > 0 &&
            now_.monotonic - reservation.since < settings_.glitch_interval)
            return;
        reservation.agent = mine->id;
        reservation.since = now_.monotonic;
        if (mine->in_flight > 0) return;
    } else if (std::ranges::count(agents_, kind, &Agent::kind) == 1 &&
               now_.monotonic - reservation.since >= turn) {
        give_up();
        return;
    }
    list.remove(deliveries_, slot);
    const Slot queue = deliveries_[slot].queue;
    const Slot link = queues_[queue].link;
    Link& l = links_[link];
    const Slot connection = make_connection(link, *mine, queue);
    connections_[connection].isolated = true;
    if (l.health.health != Health::ready) l.health.probing = connections_[connection].probe = true;
    if (queues_[queue].health.health != Health::ready) queues_[queue].health.probing = true;
    hand_over(connection, slot);
    refresh(queue);
}

// When a lone, busy agent is to be asked to make room; and when that has taken too long.
std::optional<smtp::Monotonic> Core::isolation_timer() const {
    std::optional<smtp::Monotonic> next;
    for (std::size_t kind = 0; kind < 2; ++kind) {
        if (isolated_[kind].empty() && !reservation_[kind].agent) continue;
        auto sooner = [&](smtp::Monotonic t) {
            if (t > now_.monotonic) next = next ? std::min(*next, t) : t;
        };
        const Reservation& r = reservation_[kind];
        sooner(r.since + (r.agent ? smtp::Duration(drain_at_most) : settings_.glitch_interval));
        if (isolated_[kind].count > look_at_most) sooner(now_.monotonic + look_on);
        std::size_t looked = 0;
        for (Slot slot = isolated_[kind].head; slot != none; slot = deliveries_[slot].next) {
            if (++looked > look_at_most) break;
            const Queue& q = queues_[deliveries_[slot].queue];
            if (q.health.health != Health::ready) sooner(q.health.due);
            if (q.link != none && links_[q.link].health.health != Health::ready)
                sooner(links_[q.link].health.due);
            if (q.link != none) sooner(opens_at(links_[q.link]));
        }
    }
    return next;
}

// An agent crashed with it in flight.
void Core::suspect(Slot slot, bool was_alone) {
    Delivery& d = deliveries_[slot];
    Message& m = messages_[d.message];
    d.suspect = true;
    d.tried = seconds(now_.monotonic);
    if (was_alone && d.deaths < 255) ++d.deaths;
    leave_incoming(d.message);
    emit(RecordSuspect{spool::QueueId{m.id}, numbers_of(slot), d.deaths});
    if (!was_alone || d.deaths < settings_.deaths_before_hold || m.held) return;
    m.held = true;
    ++held_;
    unwatch(d.message);
    held_changed(d.message);
    emit(RecordHeld{spool::QueueId{m.id}, d.deaths});
}

} // namespace decide::queue
