#include "daemons/decide/queue/tables/messages.h"
#include <limits>

namespace decide::queue {

Slot Messages::add(spool::QueueId id, std::int64_t arrival) {
    const Slot slot = allocate();
    Message& m = (*this)[slot];
    m.id = id.value;
    m.arrival = arrival;
    by_id_.insert(slot);
    if (oldest_id_ != 0 && arrival < (*this)[oldest_].arrival) oldest_id_ = 0;
    return slot;
}

void Messages::remove(Slot slot) {
    Message& m = (*this)[slot];
    assert(m.first == none);
    if (m.extras != none) extras.release(m.extras);
    set_held(m, false);
    by_id_.erase(m.id);
    release(slot);
}

MessageExtras& Messages::extras_of(Slot message) {
    Message& m = (*this)[message];
    if (m.extras == none) m.extras = extras.allocate();
    return extras[m.extras];
}

void Messages::set_held(Message& m, bool held) {
    if (m.held == held) return;
    m.held = held;
    held_ += held ? 1 : -1;
}

Slot Messages::oldest() const {
    if (oldest_id_ == 0 || (*this)[oldest_].id != oldest_id_) {
        oldest_id_ = 0;
        std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
        for (Slot slot = 1; slot <= top(); ++slot) {
            const Message& m = (*this)[slot];
            if (m.id == 0 || m.arrival >= earliest) continue;
            earliest = m.arrival;
            oldest_ = slot;
            oldest_id_ = m.id;
        }
    }
    return oldest_id_ == 0 ? none : oldest_;
}

} // namespace decide::queue
