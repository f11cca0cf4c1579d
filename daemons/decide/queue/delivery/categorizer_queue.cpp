#include "daemons/decide/queue/delivery/categorizer_queue.h"
#include <algorithm>

namespace decide::queue {

void CategorizerQueue::await(Slot slot, End end) {
    Delivery& d = deliveries_[slot];
    d.state = DeliveryState::pending;
    d.large = d.count > small_message;
    (d.large ? pending_large_ : pending_).push(deliveries_, slot, end);
}

void CategorizerQueue::remove(Slot slot) {
    const Delivery& d = deliveries_[slot];
    if (d.state == DeliveryState::pending) return (d.large ? pending_large_ : pending_).remove(deliveries_, slot);
    asked_.remove(deliveries_, slot);
    if (d.large) {
        --asked_large_;
        asked_recipients_ -= d.count;
    }
}

// Messages with many recipients have a line of their own, and only a few of them are requested at a time: other
// messages pass them, and neither the engine nor the categorizer holds more of such lists at once than necessary.
void CategorizerQueue::pump() {
    const auto window = std::min(settings_.max_pending_categorizations, window_);
    const auto room = [&] { return services_.categorizer && asked_.count < window; };
    while (room() && !pending_.empty() && asked_.count - asked_large_ < settings_.max_pending_categorizations)
        ask(pending_.pop(deliveries_));
    while (room() && !pending_large_.empty() &&
           (asked_large_ == 0 || asked_recipients_ + deliveries_[pending_large_.head].count <= recipients_at_once))
        ask(pending_large_.pop(deliveries_));
}

void CategorizerQueue::ask(Slot slot) {
    Delivery& d = deliveries_[slot];
    d.state = DeliveryState::categorizing;
    asked_.push(deliveries_, slot, End::back);
    if (d.large) {
        ++asked_large_;
        asked_recipients_ += d.count;
    }
    step_.emit(AskCategorizer{spool::QueueId{messages_[d.message].id},
                              d.all_recipients ? Numbers{} : deliveries_.numbers_of(slot)});
}

// An answer came: the number of concurrent requests may grow again.
void CategorizerQueue::answered() {
    if (window_ < settings_.max_pending_categorizations) ++window_;
    last_alone_ = 0;
}

// One of the requests may have crashed the categorizer: they are repeated, half as many at a time, until one is alone.
// If the categorizer dies twice in a row with the same one alone, that one is deferred and the others continue.
Slot CategorizerQueue::gone() {
    if (asked_.empty()) return none;
    window_ = std::max(asked_.count / 2, 1u);
    const bool alone = asked_.count == 1;
    const std::uint64_t suspected = alone ? messages_[deliveries_[asked_.head].message].id : 0;
    const bool again = alone && suspected == last_alone_;
    last_alone_ = again ? 0 : suspected;
    while (asked_.tail != none) {
        const Slot slot = asked_.tail;
        remove(slot);
        if (again) {
            window_ = settings_.max_pending_categorizations;
            deliveries_[slot].state = DeliveryState::held; // nowhere
            return slot;
        }
        await(slot, End::front);
    }
    return none;
}

} // namespace decide::queue
