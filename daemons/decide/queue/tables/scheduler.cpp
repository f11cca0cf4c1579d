#include "daemons/decide/queue/tables/scheduler.h"
#include <algorithm>
#include <limits>

namespace decide::queue {

void Scheduler::detach(Slot queue) {
    Queue& q = queues_[queue];
    if (q.link == none) return;
    const Slot link = q.link;
    links_.leave_terms(q);
    links_.settle_terms(link);
    q.link = none;
    Link& l = links_[link];
    l.offer -= q.offer;
    q.offer = 0;
    if (q.in_ring) leave_ring(queue, l);
    --l.queues;
    links_.check_unused(link);
}

bool Scheduler::routable(Slot queue) {
    Queue& q = queues_[queue];
    if (q.route == RouteState::store) return true;
    if (q.link == none) {
        if (q.lanes.count > 0) lookups_.add(queue);
        return false;
    }
    // Out of date: look it up, and keep using the known route until the answer comes.
    if (q.route == RouteState::known && step_.now() >= q.route_until && q.lanes.count > 0) lookups_.add(queue);
    return true;
}

std::uint32_t Scheduler::capacity_of(const Queue& q) const {
    if (!q.per_user) return std::numeric_limits<std::uint32_t>::max();
    return settings_.connections_per_user - std::min(q.active, settings_.connections_per_user);
}

void Scheduler::refresh(Slot queue) {
    Queue& q = queues_[queue];
    std::uint32_t offer = 0;
    if (routable(queue) && !q.is_paused() && q.lanes.count > 0) {
        if (q.health.health == Health::ready) {
            offer = std::min(q.lanes.count, capacity_of(q));
        } else if (!q.health.probing) {
            if (step_.now() >= q.health.due)
                offer = 1;
            else
                queues_.timers.bring_forward(queue, q.health.due);
        }
    }
    if (q.link == none) return;
    Link& l = links_[q.link];
    if (offer > q.offer) links_.schedule(q.link);
    l.offer += offer;
    l.offer -= q.offer;
    q.offer = offer;
    if ((offer > 0) == q.in_ring) return;
    if (offer > 0)
        enter_ring(queue, l);
    else
        leave_ring(queue, l);
}

// At its end: just before the queue whose turn it is.
void Scheduler::enter_ring(Slot queue, Link& l) {
    Queue& q = queues_[queue];
    q.in_ring = true;
    if (l.ring == none) {
        q.ring_prev = q.ring_next = queue;
        l.ring = queue;
        return;
    }
    Queue& turn = queues_[l.ring];
    q.ring_next = l.ring;
    q.ring_prev = turn.ring_prev;
    queues_[turn.ring_prev].ring_next = queue;
    turn.ring_prev = queue;
}

void Scheduler::leave_ring(Slot queue, Link& l) {
    Queue& q = queues_[queue];
    q.in_ring = false;
    if (q.ring_next == queue) {
        l.ring = none;
        return;
    }
    queues_[q.ring_prev].ring_next = q.ring_next;
    queues_[q.ring_next].ring_prev = q.ring_prev;
    if (l.ring == queue) l.ring = q.ring_next;
}

std::vector<Slot> Scheduler::ring_of(Slot link) const {
    std::vector<Slot> out;
    Slot queue = links_[link].ring;
    if (queue != none) do {
            out.push_back(queue);
            queue = queues_[queue].ring_next;
        } while (queue != links_[link].ring);
    return out;
}

void Scheduler::arm(Slot queue) {
    const Queue& q = queues_[queue];
    if (q.route == RouteState::failed && q.deliveries > 0) queues_.timers.bring_forward(queue, q.route_until);
    if (q.health.health != Health::ready && !q.health.probing && q.lanes.count > 0)
        queues_.timers.bring_forward(queue, std::max(q.health.due, step_.now()));
    if (q.deliveries == 0) queues_.timers.bring_forward(queue, q.empty_since + settings_.forget_after);
}

} // namespace decide::queue
