// New mail that is not tried at once, for its link or queue rests after a failure: said once of each, so that whoever
// reads the log finds it there. What was found in the spool at the start was said by those before us.
#include "daemons/decide/queue/core.h"
#include <algorithm>

namespace decide::queue {

// Why what is due in a queue is not tried now: the failure it rests after; null: it does not rest. The glitch that one
// message's failure costs its queue says nothing of the others.
const Reason* Core::rests(Slot queue) const {
    const Queue& q = queues_[queue];
    if (q.route == RouteState::failed && now_.monotonic < q.route_until) return &q.route_reason;
    const auto resting = [this](const HealthState& h) {
        return h.health != Health::ready && (h.probing || now_.monotonic < h.due);
    };
    if ((q.policy_failed || q.health.health == Health::retry) && resting(q.health)) return &q.health.last_error;
    if (q.link != none && resting(links_[q.link].health)) return &links_[q.link].health.last_error;
    return nullptr;
}

void Core::suspended(Slot slot, const Reason& reason) {
    Delivery& d = deliveries_[slot];
    d.unsaid = false;
    const auto why = static_cast<std::uint32_t>(out_->reasons.size());
    out_->reasons.push_back(reason);
    emit(NoticeSuspended{spool::QueueId{messages_[d.message].id}, numbers_of(slot), why});
}

// What already waited in a queue when its rest began, or when it came to a link that rests; of at most so many
// recipients. How many they were.
std::uint32_t Core::all_suspended(Slot queue, std::uint32_t at_most) {
    const Queue& q = queues_[queue];
    const Reason* why = rests(queue);
    if (why == nullptr) return 0;
    std::uint32_t said = 0;
    for (Slot slot = flows_.first(q.lanes); slot != none && said < at_most; slot = flows_.next(q.lanes, slot)) {
        if (!deliveries_[slot].unsaid) continue;
        said += deliveries_[slot].count;
        suspended(slot, *why);
    }
    return said;
}

void Core::all_suspended_of(Slot link) {
    const Slot first = links_[link].ring;
    if (first == none) return;
    std::uint32_t left = most_suspended_at_once;
    Slot queue = first;
    do {
        left -= std::min(left, all_suspended(queue, left));
        queue = queues_[queue].ring_next;
    } while (queue != first && left > 0);
}

} // namespace decide::queue
