#include "daemons/decide/queue/delivery/suspension_log.h"
#include <algorithm>

namespace decide::queue {

const Reason* SuspensionLog::backoff_reason(Slot queue) const {
    const Queue& q = queues_[queue];
    if (q.route == RouteState::failed && step_.now() < q.route_until) return &q.route_reason;
    const auto resting = [this](const HealthState& h) {
        return h.health != Health::ready && (h.probing || step_.now() < h.due);
    };
    if (q.fails_as_a_whole() && resting(q.health)) return &q.health.last_error;
    if (q.link != none && resting(links_[q.link].health)) return &links_[q.link].health.last_error;
    return nullptr;
}

const Reason* SuspensionLog::policy_backoff_reason(Slot queue) const {
    const Queue& q = queues_[queue];
    if (gates_.everything || q.is_paused()) return nullptr;
    if (q.route == RouteState::failed && step_.now() < q.route_until) return &q.route_reason;
    if (q.link == none || links_[q.link].paused) return nullptr;
    const auto rests = [&](const HealthState& h) {
        return h.health != Health::ready && !h.probing && step_.now() < h.due;
    };
    if (rests(q.health)) return &q.health.last_error;
    return rests(links_[q.link].health) ? &links_[q.link].health.last_error : nullptr;
}

void SuspensionLog::mark_logged(Slot slot) {
    Delivery& d = deliveries_[slot];
    const bool in_lane = d.state == DeliveryState::ready && d.holder != none;
    if (d.unlogged && in_lane) --queues_[d.queue].lanes.unlogged;
    d.unlogged = false;
}

void SuspensionLog::log_suspended(Slot slot, const Reason& reason) {
    mark_logged(slot);
    const auto why = step_.reason(reason);
    step_.emit(
        NoticeSuspended{spool::QueueId{messages_[deliveries_[slot].message].id}, deliveries_.numbers_of(slot), why});
}

// If everything in the queue is logged already, as in a long queue whose link flaps, no delivery is inspected.
void SuspensionLog::log_queue(Slot queue, LogBudget& left) {
    const Queue& q = queues_[queue];
    const Reason* why = q.lanes.unlogged == 0 ? nullptr : backoff_reason(queue);
    if (why == nullptr) return;
    for (Slot slot = flows_.first(q.lanes); slot != none && q.lanes.unlogged > 0 && !left.exhausted();
         slot = flows_.next(q.lanes, slot)) {
        --left.inspections;
        if (!deliveries_[slot].unlogged) continue;
        left.recipients -= std::min(left.recipients, deliveries_[slot].count);
        log_suspended(slot, *why);
    }
}

void SuspensionLog::log_queue(Slot queue) {
    LogBudget left;
    log_queue(queue, left);
}

void SuspensionLog::log_link(Slot link) {
    const Slot first = links_[link].ring;
    if (first == none) return;
    LogBudget left;
    Slot queue = first;
    do {
        --left.inspections;
        if (!left.exhausted()) log_queue(queue, left);
        queue = queues_[queue].ring_next;
    } while (queue != first && !left.exhausted());
}

void SuspensionLog::log_undelivered(Slot slot, Outcome outcome, const Reason& reason) {
    mark_logged(slot);
    const Delivery& d = deliveries_[slot];
    const Queue& q = queues_[d.queue];
    const auto why = step_.reason(reason);
    step_.emit(
        NoticeUndelivered{spool::QueueId{messages_[d.message].id}, deliveries_.numbers_of(slot), outcome, q.name, why});
}

} // namespace decide::queue
