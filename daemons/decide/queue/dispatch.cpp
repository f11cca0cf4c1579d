// Connections: how many a link has, and which delivery goes over which. Late binding: a connection takes what
// is best when it is free. A further one opens when what waits would keep the open ones busy for longer than
// the drain target, judged by the measured time of a transaction, up to the window.
#include "daemons/decide/queue/core.h"
#include <algorithm>
#include <cmath>

namespace decide::queue {

namespace {

// What one probe looks at, at most, in search of the mail that is best to make it with.
constexpr int queues_looked_at = 1000, deliveries_looked_at = 1000;
} // namespace

Agent* Core::agent(AgentId id) {
    for (Agent& each : agents_)
        if (each.id == id) return &each;
    return nullptr;
}

bool Core::reserved(AgentId id) const { return reservation_[0].agent == id || reservation_[1].agent == id; }

Agent* Core::least_busy(AgentKind kind) {
    Agent* best = nullptr;
    for (Agent& each : agents_) {
        if (each.kind != kind || each.connections >= each.capacity || reserved(each.id)) continue;
        if (!best || each.connections < best->connections) best = &each;
    }
    return best;
}

Slot Core::connection_of(ConnectionId id) const {
    const Slot slot = static_cast<Slot>(id);
    if (slot == none || slot > connections_.top()) return none;
    const Connection& c = connections_[slot];
    return c.link != none && c.generation == static_cast<std::uint32_t>(id >> 32) ? slot : none;
}

// What one transaction takes; while nothing completes, how long nothing has.
smtp::Duration Core::pace(const Link& l) const {
    const smtp::Duration silence = l.in_flight > 0 ? now_.monotonic - l.last_progress : smtp::Duration{};
    return std::max({l.transaction, silence, smtp::Duration(1)});
}

// How many deliveries to hand to one connection ahead of their turn.
std::uint32_t Core::depth(const Link& l) const {
    if (l.kind == AgentKind::local || l.transaction.count() == 0) return 1;
    const std::uint32_t connections = std::max(1u, l.up + l.opening);
    const std::uint32_t share = (l.offer + l.in_flight + connections - 1) / connections;
    const auto soon =
        static_cast<std::uint64_t>(settings_.drain_target / std::max(l.transaction, smtp::Duration(1)));
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(std::min<std::uint64_t>(share, soon), 1, settings_.batch));
}

// How many connections would carry all that waits within the drain target.
std::uint32_t Core::wanted(const Link& l) const {
    const std::uint64_t work = std::uint64_t{l.offer} + l.in_flight;
    if (l.kind == AgentKind::local) return static_cast<std::uint32_t>(work);
    if (l.by_backlog) return static_cast<std::uint32_t>((work + settings_.batch - 1) / settings_.batch);
    const auto target = static_cast<std::uint64_t>(std::max<std::int64_t>(settings_.drain_target.count(), 1));
    const std::uint64_t need = (work * static_cast<std::uint64_t>(pace(l).count()) + target - 1) / target;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(need, 1, work));
}

void Core::pump(Slot link) {
    Link& l = links_[link];
    if (paused_ || l.paused) return;
    if (l.offer == 0) {
        if (l.down && !(l.pool != 0 && paused_pools_.contains(pools_[l.pool]))) probe(link);
        return;
    }
    if (!rate_open(link)) return;
    if (l.health.health != Health::ready) {
        if (l.health.probing) return;
        if (const auto due = std::max(l.health.due, l.address_limit_until); now_.monotonic < due)
            link_timers_.bring_forward(link, due);
        else
            l.health.probing = open_one(link);
        return;
    }
    std::uint32_t usable = l.opening;
    for (Slot slot = l.connections.head; slot != none && l.offer > 0;) {
        Connection& c = connections_[slot];
        const Slot next = c.next;
        if (c.state == ConnectionState::up && !c.isolated && !c.stalled && !reserved(c.agent) &&
            c.handed < settings_.messages_per_connection) {
            ++usable;
            // Nothing ahead of its turn where the one under way does not come to its end.
            const bool moves = now_.monotonic - c.last_done < 2 * settings_.drain_target;
            const std::uint32_t room = c.deliveries.empty() || moves ? depth(l) : 0;
            while (l.offer > 0 && c.deliveries.count < room && c.handed < settings_.messages_per_connection) {
                if (!rate_open(link)) return;
                if (!hand_over_next(slot)) break;
            }
            if (l.offer > 0 && next_queue_for(slot) == none) { // whoever waits authenticates in another way
                --usable;
                if (c.deliveries.empty() && l.open() >= l.window.size()) close(slot);
            }
        }
        slot = next;
    }
    while (l.offer > 0 && usable < wanted(l) && l.open() < l.window.size()) {
        const smtp::Monotonic wait_until = std::max({l.not_before, l.next_connection, l.address_limit_until});
        if (now_.monotonic < wait_until) {
            link_timers_.bring_forward(link, wait_until);
            return;
        }
        if (!rate_open(link)) return;
        if (!open_one(link)) return;
        ++usable;
    }
    if (l.offer == 0 || l.open() >= l.window.size() || l.kind == AgentKind::local) return;
    // If nothing completes until then, the same backlog justifies one connection more.
    const std::uint64_t work = std::uint64_t{l.offer} + l.in_flight;
    if (usable >= work) return;
    const auto silence = smtp::Duration(static_cast<std::int64_t>(
        static_cast<std::uint64_t>(settings_.drain_target.count()) * usable / work + 1));
    link_timers_.bring_forward(
        link, std::max(l.last_progress + silence, now_.monotonic + std::chrono::milliseconds(5)));
}

bool Core::open_one(Slot link) {
    Link& l = links_[link];
    const std::size_t others = waiting_links_.size() - (l.wants_connection ? 1 : 0);
    const std::uint32_t share =
        std::max(1u, settings_.connections_total / std::max(settings_.link_share, 1u));
    Agent* by = open_ < settings_.connections_total ? least_busy(l.kind) : nullptr;
    if (!by || (others > 0 && l.open() >= share)) {
        want_connection(link);
        if (!by && !idle_.empty()) close(idle_.head); // its place comes free
        return false;
    }
    const Slot slot = make_connection(link, *by, l.health.health == Health::ready ? l.ring : queue_to_probe(l));
    connections_[slot].probe = l.health.health != Health::ready;
    hand_over_next(slot);
    return true;
}

Slot Core::make_connection(Slot link, Agent& by, Slot queue) {
    Link& l = links_[link];
    const Slot slot = connections_.allocate();
    Connection& c = connections_[slot];
    ++c.generation;
    c.agent = by.id;
    c.link = link;
    c.round = l.health.round;
    c.rule = queue == none ? l.rule : queues_[queue].rule;
    c.auth = queue == none ? 0 : queues_[queue].auth;
    c.last_done = now_.monotonic;
    ++by.connections;
    ++open_;
    ++l.opening;
    l.next_connection = next_at(l.next_connection) + l.connection_gap;
    l.connections.push(connections_, slot, End::back);
    emit(OpenConnection{by.id, id_of(slot), l.name, queue == none ? std::string_view() : queues_[queue].domain()});
    return slot;
}

// Whose mail a link that is not ready is probed with: the next queue that has other than problem messages.
Slot Core::queue_to_probe(const Link& l) const {
    Slot queue = l.ring;
    for (int looked = 0; looked < queues_looked_at; ++looked) {
        if (queues_[queue].lanes.healthy() > 0) return queue;
        queue = queues_[queue].ring_next;
        if (queue == l.ring) break;
    }
    return l.ring;
}

// Little may be tried: healthy mail first, and where there are problem messages only, one that failed least. Who fails
// because of an outage has a few failures, what fails by itself has many.
Slot Core::take_for_probe(Queue& q) {
    if (q.lanes.healthy() > 0) return flows_.take(q.lanes, settings_, now_.monotonic, Flows::Purpose::probe);
    Slot best = flows_.first(q.lanes);
    int looked = 0;
    for (Slot slot = best; slot != none && looked < deliveries_looked_at; slot = flows_.next(q.lanes, slot), ++looked)
        if (deliveries_[slot].failures < deliveries_[best].failures) best = slot;
    flows_.remove(q.lanes, best);
    return best;
}

Slot Core::next_queue_for(Slot connection) const {
    const Connection& c = connections_[connection];
    const Slot first = links_[c.link].ring;
    if (first == none || queues_[first].auth == c.auth) return first;
    for (Slot queue = queues_[first].ring_next; queue != first; queue = queues_[queue].ring_next)
        if (queues_[queue].auth == c.auth) return queue;
    return none;
}

// The next delivery of the link's next queue goes over this connection.
bool Core::hand_over_next(Slot connection) {
    Link& l = links_[connections_[connection].link];
    const bool link_is_probed = l.health.health != Health::ready; // its connection was opened for that queue
    const Slot queue = link_is_probed ? queue_to_probe(l) : next_queue_for(connection);
    if (queue == none) return false;
    Queue& q = queues_[queue];
    l.ring = q.ring_next;
    Slot delivery = none;
    const bool probe = link_is_probed || q.health.health != Health::ready;
    if (q.health.health != Health::ready) {
        // The queue's one try takes the message that failed, as long as it is not a problem.
        q.health.probing = true;
        if (q.head != none && deliveries_[q.head].generation == q.head_generation) {
            const Delivery& head = deliveries_[q.head];
            if (head.state == DeliveryState::ready && head.queue == queue && !head.problem) {
                delivery = q.head;
                flows_.remove(q.lanes, delivery);
            }
        }
    }
    if (delivery == none)
        delivery = probe ? take_for_probe(q) : flows_.take(q.lanes, settings_, now_.monotonic);
    hand_over(connection, delivery);
    refresh(queue);
    return true;
}

void Core::hand_over(Slot connection, Slot slot) {
    Connection& c = connections_[connection];
    Link& l = links_[c.link];
    Delivery& d = deliveries_[slot];
    Message& m = messages_[d.message];
    Queue& q = queues_[d.queue];
    leave_idle(connection);
    if (c.deliveries.empty() && c.state == ConnectionState::up) c.last_done = now_.monotonic;
    if (l.in_flight == 0) l.last_progress = now_.monotonic;
    l.next_message = next_at(l.next_message) + l.message_gap;
    // What was due at once waits since it came.
    const smtp::WallTime queued = std::max(wall_of(d.due), smtp::WallTime(smtp::Duration(m.arrival)));
    d.state = DeliveryState::active;
    d.holder = connection;
    d.round = q.health.round;
    d.due = now_.monotonic;
    d.postponed = false;
    d.unlogged = false; // its agent tells
    c.deliveries.push(deliveries_, slot, End::back);
    if (c.deliveries.count > 1) link_timers_.bring_forward(c.link, c.last_done + 2 * settings_.drain_target);
    ++c.handed;
    ++l.in_flight;
    ++q.active;
    ++m.active;
    ++agent(c.agent)->in_flight;
    emit(Deliver{c.agent, id_of(connection), (std::uint64_t{d.generation} << 32) | slot,
                 spool::QueueId{m.id}, m.location, smtp::WallTime(smtp::Duration(m.arrival)), queued,
                 numbers_of(slot), q.domain(), q.secure});
}

void Core::idle_or_close(Slot slot) {
    Connection& c = connections_[slot];
    if (c.state != ConnectionState::up || !c.deliveries.empty()) return;
    if (c.isolated || c.handed >= settings_.messages_per_connection) {
        close(slot);
        return;
    }
    if (c.idle) return;
    c.idle = true;
    c.idle_since = now_.monotonic;
    idle_.push(connections_, slot, End::back);
    // Somebody else needs its place more than a rainy day does.
    const bool wanted = !waiting_links_.empty() || std::ranges::any_of(c.addresses, [&](Slot each) {
        return !addresses_[each].waiting_links.empty();
    });
    if (wanted && links_[c.link].offer == 0) close(slot);
}

void Core::leave_idle(Slot slot) {
    Connection& c = connections_[slot];
    if (!c.idle) return;
    c.idle = false;
    idle_.remove(connections_, slot);
}

void Core::close(Slot slot) {
    Connection& c = connections_[slot];
    leave_idle(slot);
    Link& l = links_[c.link];
    --l.up;
    ++l.closing;
    c.state = ConnectionState::closing;
    emit(CloseConnection{c.agent, id_of(slot)});
}

// It is no more. Its deliveries have been taken back.
void Core::release_connection(Slot slot) {
    Connection& c = connections_[slot];
    assert(c.deliveries.empty());
    leave_idle(slot);
    leave_addresses(slot);
    const Slot link = c.link;
    Link& l = links_[link];
    switch (c.state) {
    case ConnectionState::opening: --l.opening; break;
    case ConnectionState::up: --l.up; break;
    case ConnectionState::closing: --l.closing; break;
    }
    l.connections.remove(connections_, slot);
    if (c.probe && l.health.health != Health::ready && c.round == l.health.round) l.health.probing = false;
    if (Agent* by = agent(c.agent)) --by->connections;
    --open_;
    const std::uint32_t generation = c.generation;
    connections_.release(slot);
    connections_[slot].generation = generation;
    check_unused(link);
    schedule(link);
    connection_freed_ = true;
}

void Core::want_connection(Slot link) {
    if (links_[link].wants_connection) return;
    links_[link].wants_connection = true;
    waiting_links_.push_back(link);
}

// There is room for connections again: to those who asked first, as long as it lasts. Who wants nothing any
// more leaves the line.
void Core::serve_waiting_links() {
    connection_freed_ = false;
    for (std::size_t n = waiting_links_.size(); n > 0 && open_ < settings_.connections_total; --n) {
        const Slot link = waiting_links_.front();
        waiting_links_.pop_front();
        links_[link].wants_connection = false;
        pump(link);
    }
}

void Core::agent_attached(AgentId id, AgentKind kind, std::uint32_t capacity) {
    agents_.push_back(Agent{id, kind, capacity, 0, 0});
    connection_freed_ = true;
}

} // namespace decide::queue
