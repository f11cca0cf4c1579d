// New mail that is not tried at once, for its link or queue rests after a failure: said once of each, so that whoever
// reads the log finds it there. What was found in the spool at the start was said by those before us.
#include "daemons/decide/queue/core.h"
#include <algorithm>

namespace decide::queue {

// Why what is due in a queue is not tried now: the failure it rests after; null: it does not rest.
const Reason* Core::rests(Slot queue) const {
    const Queue& q = queues_[queue];
    if (q.route == RouteState::failed && now_.monotonic < q.route_until) return &q.route_reason;
    const auto resting = [this](const HealthState& h) {
        return h.health != Health::ready && (h.probing || now_.monotonic < h.due);
    };
    if (says_of_all(q) && resting(q.health)) return &q.health.last_error;
    if (q.link != none && resting(links_[q.link].health)) return &links_[q.link].health.last_error;
    return nullptr;
}

void Core::said(Slot slot) {
    Delivery& d = deliveries_[slot];
    const bool in_lane = d.state == DeliveryState::ready && d.holder != none;
    if (d.unsaid && in_lane) --queues_[d.queue].lanes.unsaid;
    d.unsaid = false;
}

void Core::suspended(Slot slot, const Reason& reason) {
    said(slot);
    const auto why = static_cast<std::uint32_t>(out_->reasons.size());
    out_->reasons.push_back(reason);
    emit(NoticeSuspended{spool::QueueId{messages_[deliveries_[slot].message].id}, numbers_of(slot), why});
}

// What already waited in a queue when its rest began, or when it came to a link that rests. Where all is said, as it is
// of a long queue whose link comes and goes, nothing is looked at.
void Core::all_suspended(Slot queue, Telling& left) {
    const Queue& q = queues_[queue];
    const Reason* why = q.lanes.unsaid == 0 ? nullptr : rests(queue);
    if (why == nullptr) return;
    for (Slot slot = flows_.first(q.lanes); slot != none && q.lanes.unsaid > 0 && !left.ended();
         slot = flows_.next(q.lanes, slot)) {
        --left.looks;
        if (!deliveries_[slot].unsaid) continue;
        left.recipients -= std::min(left.recipients, deliveries_[slot].count);
        suspended(slot, *why);
    }
}

void Core::all_suspended(Slot queue) {
    Telling left;
    all_suspended(queue, left);
}

void Core::all_suspended_of(Slot link) {
    const Slot first = links_[link].ring;
    if (first == none) return;
    Telling left;
    Slot queue = first;
    do {
        --left.looks;
        if (!left.ended()) all_suspended(queue, left);
        queue = queues_[queue].ring_next;
    } while (queue != first && !left.ended());
}

} // namespace decide::queue
