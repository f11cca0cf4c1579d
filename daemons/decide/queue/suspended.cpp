// New mail that is not tried at once, for its link or queue rests after a failure: said once of each, so that whoever
// reads the log finds it there. What was found in the spool at the start was said by those before us.
#include "daemons/decide/queue/core.h"
#include <algorithm>

namespace decide::queue {

// Why what is due in a queue is not tried now: the failure it rests after; null: it does not rest.
const Reason* Core::backoff_reason(Slot queue) const {
    const Queue& q = queues_[queue];
    if (q.route == RouteState::failed && now_.monotonic < q.route_until) return &q.route_reason;
    const auto resting = [this](const HealthState& h) {
        return h.health != Health::ready && (h.probing || now_.monotonic < h.due);
    };
    if (affects_whole_queue(q) && resting(q.health)) return &q.health.last_error;
    if (q.link != none && resting(links_[q.link].health)) return &links_[q.link].health.last_error;
    return nullptr;
}

void Core::mark_logged(Slot slot) {
    Delivery& d = deliveries_[slot];
    const bool in_lane = d.state == DeliveryState::ready && d.holder != none;
    if (d.unlogged && in_lane) --queues_[d.queue].lanes.unlogged;
    d.unlogged = false;
}

void Core::log_suspended(Slot slot, const Reason& reason) {
    mark_logged(slot);
    const auto why = static_cast<std::uint32_t>(out_->reasons.size());
    out_->reasons.push_back(reason);
    emit(NoticeSuspended{spool::QueueId{messages_[deliveries_[slot].message].id}, numbers_of(slot), why});
}

// What already waited in a queue when its rest began, or when it came to a link that rests. Where all is said, as it is
// of a long queue whose link comes and goes, nothing is looked at.
void Core::log_queue_suspended(Slot queue, LogBudget& left) {
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

void Core::log_queue_suspended(Slot queue) {
    LogBudget left;
    log_queue_suspended(queue, left);
}

void Core::log_link_suspended(Slot link) {
    const Slot first = links_[link].ring;
    if (first == none) return;
    LogBudget left;
    Slot queue = first;
    do {
        --left.inspections;
        if (!left.exhausted()) log_queue_suspended(queue, left);
        queue = queues_[queue].ring_next;
    } while (queue != first && !left.exhausted());
}

} // namespace decide::queue
