#include "daemons/decide/queue/delivery/dispatcher.h"
#include <algorithm>

namespace decide::queue {

namespace {

// Limits for one probe's search for the best mail to probe with.
constexpr int queues_looked_at = 1000, deliveries_looked_at = 1000;
} // namespace

// What one transaction takes; while nothing completes, how long nothing has.
smtp::Duration Dispatcher::pace(const Link& l) const {
    const smtp::Duration silence = l.in_flight > 0 ? step_.now() - l.last_progress : smtp::Duration{};
    return std::max({l.transaction, silence, smtp::Duration(1)});
}

// How many deliveries to hand to one connection ahead of their turn.
std::uint32_t Dispatcher::depth(const Link& l) const {
    if (l.kind == AgentKind::local || l.transaction.count() == 0) return 1;
    const std::uint32_t connections = std::max(1u, l.up + l.opening);
    const std::uint32_t share = (l.offer + l.in_flight + connections - 1) / connections;
    const auto soon = static_cast<std::uint64_t>(settings_.drain_target / std::max(l.transaction, smtp::Duration(1)));
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(std::min<std::uint64_t>(share, soon), 1, settings_.batch));
}

// How many connections would carry all that waits within the drain target.
std::uint32_t Dispatcher::wanted(const Link& l) const {
    const std::uint64_t work = std::uint64_t{l.offer} + l.in_flight;
    if (l.kind == AgentKind::local) return static_cast<std::uint32_t>(work);
    if (l.by_backlog) return static_cast<std::uint32_t>((work + settings_.batch - 1) / settings_.batch);
    const auto target = static_cast<std::uint64_t>(std::max<std::int64_t>(settings_.drain_target.count(), 1));
    const std::uint64_t need = (work * static_cast<std::uint64_t>(pace(l).count()) + target - 1) / target;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(need, 1, work));
}

void Dispatcher::pump(Slot link) {
    Link& l = links_[link];
    if (gates_.everything || l.paused) return;
    if (l.offer == 0) {
        if (l.down && !(l.pool != 0 && gates_.pools.contains(pools_[l.pool]))) probe(link);
        return;
    }
    if (step_.now() < l.next_message) {
        links_.timers.bring_forward(link, l.next_message);
        return;
    }
    if (l.health.health != Health::ready) {
        if (l.health.probing) return;
        if (const auto due = std::max(l.health.due, l.address_limit_until); step_.now() < due)
            links_.timers.bring_forward(link, due);
        else if (!has_place(l) || links_.rate_open(link)) // a token is asked for only where it can be used
            l.health.probing = open_one(link);
        return;
    }
    std::uint32_t usable = l.opening;
    for (Slot slot = l.connections.head; slot != none && l.offer > 0;) {
        Connection& c = connections_[slot];
        const Slot next = c.next;
        if (c.state == ConnectionState::up && !c.isolated && !c.stalled && !connections_.reserved(c.agent) &&
            c.handed < settings_.messages_per_connection) {
            ++usable;
            // Hand over nothing ahead of its turn while the delivery in progress does not finish.
            const bool moves = step_.now() - c.last_done < 2 * settings_.drain_target;
            const std::uint32_t room = c.deliveries.empty() || moves ? depth(l) : 0;
            while (l.offer > 0 && c.deliveries.count < room && c.handed < settings_.messages_per_connection) {
                if (!links_.rate_open(link)) return;
                if (!hand_over_next(slot)) break;
            }
            if (l.offer > 0 && next_queue_for(slot) == none) { // those that wait authenticate in another way
                --usable;
                if (c.deliveries.empty() && l.open() >= l.window.size()) connections_.close(slot);
            }
        }
        slot = next;
    }
    while (l.offer > 0 && usable < wanted(l) && l.open() < l.window.size()) {
        smtp::Monotonic wait_until = std::max({l.not_before, l.next_connection, l.address_limit_until});
        if (step_.now() >= wait_until && !has_place(l)) {
            open_one(link); // it waits for one
            return;
        }
        if (step_.now() >= wait_until) wait_until = links_.shared_rates_open(link, wanted(l) - usable);
        if (step_.now() < wait_until) {
            links_.timers.bring_forward(link, wait_until);
            return;
        }
        if (!links_.rate_open(link)) return;
        if (!open_one(link)) return;
        ++usable;
    }
    if (l.offer == 0 || l.open() >= l.window.size() || l.kind == AgentKind::local) return;
    // If nothing completes until then, the same backlog justifies one connection more.
    const std::uint64_t work = std::uint64_t{l.offer} + l.in_flight;
    if (usable >= work) return;
    const auto silence = smtp::Duration(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(settings_.drain_target.count()) * usable / work + 1));
    links_.timers.bring_forward(link, std::max(l.last_progress + silence, step_.now() + std::chrono::milliseconds(5)));
}

// Links that no longer need a connection leave the line.
void Dispatcher::serve_waiting_links() {
    for (std::size_t n = connections_.begin_serving(); n > 0 && connections_.has_room(); --n)
        pump(connections_.next_waiting());
}

// For one connection more: an agent, and a share of all connections.
bool Dispatcher::has_place(const Link& l) {
    const std::uint32_t share = std::max(1u, settings_.connections_total / std::max(settings_.link_share, 1u));
    return connections_.agent_for(l.kind) && (connections_.waiting_besides(l) == 0 || l.open() < share);
}

bool Dispatcher::open_one(Slot link) {
    Link& l = links_[link];
    Agent* by = connections_.agent_for(l.kind);
    if (!has_place(l)) {
        connections_.want(link);
        if (!by) connections_.close_longest_idle(); // its place becomes free
        return false;
    }
    const Slot slot = connections_.make(link, *by, l.health.health == Health::ready ? l.ring : queue_to_probe(l));
    connections_[slot].probe = l.health.health != Health::ready;
    hand_over_next(slot);
    return true;
}

// The queue whose mail probes a link that is not ready: the next one that has other than problem messages.
Slot Dispatcher::queue_to_probe(const Link& l) const {
    Slot queue = l.ring;
    for (int looked = 0; looked < queues_looked_at; ++looked) {
        if (queues_[queue].lanes.healthy() > 0) return queue;
        queue = queues_[queue].ring_next;
        if (queue == l.ring) break;
    }
    return l.ring;
}

// Few tries are allowed here: healthy mail goes first, and if there are only problem messages, one with the fewest
// failures. Messages that fail because of an outage have few failures, those that fail by themselves have many.
Slot Dispatcher::take_for_probe(Queue& q) {
    if (q.lanes.healthy() > 0) return flows_.take(q.lanes, settings_, step_.now(), Flows::Purpose::probe);
    Slot best = flows_.first(q.lanes);
    int looked = 0;
    for (Slot slot = best; slot != none && looked < deliveries_looked_at; slot = flows_.next(q.lanes, slot), ++looked)
        if (deliveries_[slot].failures < deliveries_[best].failures) best = slot;
    flows_.remove(q.lanes, best);
    return best;
}

Slot Dispatcher::next_queue_for(Slot connection) const {
    const Connection& c = connections_[connection];
    const Slot first = links_[c.link].ring;
    if (first == none || queues_[first].auth == c.auth) return first;
    for (Slot queue = queues_[first].ring_next; queue != first; queue = queues_[queue].ring_next)
        if (queues_[queue].auth == c.auth) return queue;
    return none;
}

bool Dispatcher::hand_over_next(Slot connection) {
    Link& l = links_[connections_[connection].link];
    const bool link_is_probed = l.health.health != Health::ready; // its connection was opened for that queue
    const Slot queue = link_is_probed ? queue_to_probe(l) : next_queue_for(connection);
    if (queue == none) return false;
    Queue& q = queues_[queue];
    l.ring = q.ring_next;
    Slot delivery = none;
    const bool probe = link_is_probed || q.health.health != Health::ready;
    if (q.health.health != Health::ready) {
        // The queue's one try takes the message that failed, unless it is a problem message.
        q.health.probing = true;
        if (q.head != none && deliveries_[q.head].generation == q.head_generation) {
            const Delivery& head = deliveries_[q.head];
            if (head.state == DeliveryState::ready && head.queue == queue && !head.problem) {
                delivery = q.head;
                flows_.remove(q.lanes, delivery);
            }
        }
    }
    if (delivery == none) delivery = probe ? take_for_probe(q) : flows_.take(q.lanes, settings_, step_.now());
    hand_over(connection, delivery);
    scheduler_.refresh(queue);
    return true;
}

void Dispatcher::hand_over(Slot connection, Slot slot) {
    Connection& c = connections_[connection];
    Link& l = links_[c.link];
    Delivery& d = deliveries_[slot];
    Message& m = messages_[d.message];
    Queue& q = queues_[d.queue];
    connections_.leave_idle(connection);
    if (c.deliveries.empty() && c.state == ConnectionState::up) c.last_done = step_.now();
    if (l.in_flight == 0) l.last_progress = step_.now();
    links_.message_begins(c.link);
    // If due at once, it has been waiting since it arrived.
    const smtp::WallTime queued = std::max(step_.wall_of(d.due), smtp::WallTime(smtp::Duration(m.arrival)));
    d.state = DeliveryState::active;
    d.holder = connection;
    d.round = q.health.round;
    d.due = step_.now();
    d.postponed = false;
    d.unlogged = false; // its agent logs it
    c.deliveries.push(deliveries_, slot, End::back);
    if (c.deliveries.count > 1) links_.timers.bring_forward(c.link, c.last_done + 2 * settings_.drain_target);
    ++c.handed;
    ++l.in_flight;
    ++q.active;
    ++m.active;
    ++connections_.agent(c.agent)->in_flight;
    step_.emit(Deliver{c.agent, connections_.id_of(connection), deliveries_.id_of(slot), spool::QueueId{m.id},
                       m.location, smtp::WallTime(smtp::Duration(m.arrival)), queued, deliveries_.numbers_of(slot),
                       q.domain(), q.secure});
}

// No mail goes over a link that is down as long as there is another route: the link is probed without mail, on its
// retry schedule.
void Dispatcher::probe(Slot link) {
    Link& l = links_[link];
    if (l.health.probing || !l.connections.empty()) return;
    if (const auto due = std::max(l.health.due, l.address_limit_until); step_.now() < due) {
        links_.timers.bring_forward(link, due);
        return;
    }
    Agent* by = connections_.agent_for(l.kind);
    if (!by) {
        links_.timers.bring_forward(link, step_.now() + settings_.glitch_interval);
        return;
    }
    const Slot slot = connections_.make(link, *by, none);
    connections_[slot].probe = true;
    l.health.probing = true;
}

void Dispatcher::recall_stalled(Slot link) {
    Link& l = links_[link];
    if (l.kind != AgentKind::smtp) return;
    for (Slot slot = l.connections.head; slot != none; slot = connections_[slot].next) {
        Connection& c = connections_[slot];
        if (c.state != ConnectionState::up || c.stalled || c.deliveries.count < 2) continue;
        const smtp::Monotonic at = c.last_done + 2 * settings_.drain_target;
        if (step_.now() < at) {
            links_.timers.bring_forward(link, at);
            continue;
        }
        c.stalled = true;
        step_.emit(Recall{c.agent, connections_.id_of(slot)});
    }
}

} // namespace decide::queue
