#include "libspool/message/content_memory.h"
#include <utility>

namespace spool {

ContentMemory::Level ContentMemory::level() const {
    const auto held = this->held(), limit = this->limit();
    if (held >= limit) return Level::exhausted;
    if (held >= limit / 4 * 3) return Level::scarce;
    return held >= limit / 2 ? Level::low : Level::plenty;
}

std::size_t ContentMemory::buffer_limit() const {
    switch (level()) {
    case Level::plenty: return SIZE_MAX;
    case Level::low: return 64 * 1024;
    case Level::scarce: return 16 * 1024;
    case Level::exhausted: break;
    }
    return small;
}

void ContentMemory::remove(std::size_t bytes) {
    if (bytes == 0) return;
    held_.fetch_sub(bytes, std::memory_order_relaxed);
    if (wanted_.load() && level() < Level::scarce && wanted_.exchange(false) && !closed_) wake_();
}

void ContentMemory::join(Holder& holder) {
    holder.next_ = first_;
    holder.before_ = nullptr;
    if (first_) first_->before_ = &holder;
    first_ = &holder;
    holder.listed_ = true;
}

void ContentMemory::leave(Holder& holder) {
    if (!std::exchange(holder.listed_, false)) return;
    (holder.before_ ? holder.before_->next_ : first_) = holder.next_;
    if (holder.next_) holder.next_->before_ = holder.before_;
}

// Going through all of them takes its time: once for each sixteenth of the budget that comes.
void ContentMemory::check_level() {
    const auto held = this->held(), step = limit() / 16;
    if (level() == Level::plenty) {
        next_look_ = 0;
        return;
    }
    if (next_look_ > held + step) next_look_ = held + step;
    if (held < next_look_) return;
    next_look_ = held + step;
    const auto most = buffer_limit();
    for (auto* each = first_; each;) {
        auto* holder = std::exchange(each, each->next_);
        holder->flush_to_file(most);
    }
}

void ContentMemory::wait(std::move_only_function<void()> go_on) {
    waiting_.push_back(std::move(go_on));
    wanted_ = true;
    if (level() < Level::scarce && wanted_.exchange(false) && !closed_) wake_(); // it was relieved meanwhile
}

// A few at a time: each of them may use what has become free.
void ContentMemory::resume_waiting() {
    constexpr int at_a_time = 16;
    for (int n = 0; n < at_a_time && !waiting_.empty() && level() < Level::scarce; ++n) {
        auto go_on = std::move(waiting_.front());
        waiting_.pop_front();
        go_on();
    }
    if (waiting_.empty()) return;
    wanted_ = true;
    if (level() < Level::scarce && wanted_.exchange(false) && !closed_) wake_();
}

} // namespace spool
