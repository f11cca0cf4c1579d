#include "daemons/decide/queue/delivery/isolation.h"
#include <algorithm>
#include <initializer_list>

namespace decide::queue {

namespace {
constexpr auto drain_at_most = std::chrono::seconds(60); // a lone agent, to become empty
constexpr auto turn = std::chrono::seconds(10);          // a lone agent's time for suspects
// Maximum number of suspects examined at a time: a suspect whose link or queue has to wait goes to the end of the list,
// and those not examined get their turn a little later.
constexpr std::size_t look_at_most = 256;
constexpr auto look_on = std::chrono::seconds(1);

// When a link may open a connection for it: its rates and the pauses after push-back apply to all mail.
smtp::Monotonic opens_at(const Link& l) {
    const auto when_ready =
        l.health.health == Health::ready ? std::max(l.not_before, l.next_connection) : smtp::Monotonic{};
    return std::max({l.next_message, l.address_limit_until, when_ready});
}
} // namespace

// May it be tried now? If only few tries are allowed, healthy mail goes first.
bool Isolation::may_try(const Delivery& d, Token token) const {
    const Queue& q = queues_[d.queue];
    if (q.link == none || q.is_paused()) return false;
    const Link& l = links_[q.link];
    if (l.paused || l.open() >= l.window.limit() || step_.now() < opens_at(l)) return false;
    const auto may = [&](const HealthState& h) {
        return h.health == Health::ready || (!h.probing && step_.now() >= h.due);
    };
    const bool ready = q.health.health == Health::ready && l.health.health == Health::ready;
    if (!ready && (!may(q.health) || !may(l.health) || l.offer > 0)) return false;
    if (token == Token::now) return links_.shared_rates_open(q.link, 1) <= step_.now();
    return std::max(links_.next_message(l), links_.next_connection(l)) <= step_.now() || FleetRates::is_asking(l);
}

Slot Isolation::next_suspect(AgentKind kind, Token token) {
    if (gates_.everything || !connections_.has_room()) return none;
    auto& list = placement_.isolated(kind);
    const std::size_t looks = std::min<std::size_t>(list.count, look_at_most);
    for (std::size_t looked = 0; looked < looks; ++looked) {
        const Slot slot = list.head;
        if (may_try(deliveries_[slot], Token::later)) // the first one keeps its turn while the store is asked
            return token == Token::later || may_try(deliveries_[slot], token) ? slot : none;
        list.remove(deliveries_, slot);
        list.push(deliveries_, slot, End::back);
    }
    return none;
}

void Isolation::pump() {
    for (const AgentKind kind : {AgentKind::smtp, AgentKind::local})
        if (!placement_.isolated(kind).empty() || connections_.reservation(kind).agent) pump(kind);
}

void Isolation::give_up(Connections::Reservation& reservation) {
    if (!reservation.agent) return;
    reservation.agent.reset();
    reservation.since = step_.now();
    for (Slot slot = 1; slot <= links_.top(); ++slot)
        if (!links_[slot].name.empty() && links_[slot].offer > 0) links_.schedule(slot);
    connections_.mark_freed();
}

bool Isolation::is_lone(AgentKind kind) const {
    return std::ranges::count(connections_.agents, kind, &Agent::kind) == 1;
}

void Isolation::pump(AgentKind kind) {
    auto& list = placement_.isolated(kind);
    auto& reservation = connections_.reservation(kind);
    Agent* mine = reservation.agent ? connections_.agent(*reservation.agent) : nullptr;
    Slot slot = next_suspect(kind, Token::later);
    if (mine && mine->in_flight > 0) { // at work for a suspect, or still for others
        bool serving = false;
        for (Slot c = 1; c <= connections_.top() && !serving; ++c)
            serving = connections_[c].link != none && connections_[c].agent == mine->id && connections_[c].isolated;
        if (is_lone(kind) && !serving && step_.now() - reservation.since >= drain_at_most) give_up(reservation);
        return;
    }
    if (slot == none) {
        give_up(reservation);
        return;
    }
    if (!mine) {
        std::size_t others = 0;
        for (Agent& each : connections_.agents) {
            if (each.kind != kind) continue;
            ++others;
            if (each.connections >= each.capacity) continue;
            if (!mine || each.in_flight < mine->in_flight) mine = &each;
        }
        if (!mine) return;
        if (others == 1 && mine->in_flight > 0 && step_.now() - reservation.since < settings_.glitch_interval) return;
        reservation.agent = mine->id;
        reservation.since = step_.now();
        if (mine->in_flight > 0) return;
    } else if (is_lone(kind) && step_.now() - reservation.since >= turn) {
        give_up(reservation);
        return;
    }
    slot = next_suspect(kind, Token::now);
    if (slot == none) return; // until the store has answered
    list.remove(deliveries_, slot);
    const Slot queue = deliveries_[slot].queue;
    const Slot link = queues_[queue].link;
    Link& l = links_[link];
    const Slot connection = connections_.make(link, *mine, queue);
    connections_[connection].isolated = true;
    if (l.health.health != Health::ready) l.health.probing = connections_[connection].probe = true;
    if (queues_[queue].health.health != Health::ready) queues_[queue].health.probing = true;
    dispatcher_.hand_over(connection, slot);
    scheduler_.refresh(queue);
}

std::optional<smtp::Monotonic> Isolation::next() const {
    std::optional<smtp::Monotonic> next;
    for (const AgentKind kind : {AgentKind::smtp, AgentKind::local}) {
        const auto& list = placement_.isolated(kind);
        const Connections::Reservation& r = connections_.reservation(kind);
        if (list.empty() && !r.agent) continue;
        auto sooner = [&](smtp::Monotonic t) {
            if (t > step_.now()) next = next ? std::min(*next, t) : t;
        };
        sooner(r.since + (r.agent ? smtp::Duration(drain_at_most) : settings_.glitch_interval));
        if (list.count > look_at_most) sooner(step_.now() + look_on);
        std::size_t looked = 0;
        for (Slot slot = list.head; slot != none; slot = deliveries_[slot].next) {
            if (++looked > look_at_most) break;
            const Queue& q = queues_[deliveries_[slot].queue];
            if (q.health.health != Health::ready) sooner(q.health.due);
            if (q.link != none && links_[q.link].health.health != Health::ready) sooner(links_[q.link].health.due);
            if (q.link == none) continue;
            const Link& l = links_[q.link];
            sooner(opens_at(l));
            if (!l.paused && !q.is_paused()) sooner(std::max(links_.next_message(l), links_.next_connection(l)));
        }
    }
    return next;
}

} // namespace decide::queue
