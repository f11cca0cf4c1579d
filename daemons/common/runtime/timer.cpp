#include "daemons/common/runtime/timer.h"
#include <algorithm>
#include <utility>

namespace common {

Timer::Timer(Loop& loop, std::function<void()> fired) : fired_(std::move(fired)), timer_(make_timer(loop.uv(), this)) {}

void Timer::start(smtp::Duration in) {
    using std::chrono::ceil;
    using std::chrono::milliseconds;
    uv_update_time(timer_->loop); // a turn may have taken long
    // libuv counts whole milliseconds, the current one included: one more, so as never to be early.
    const auto wait = in <= smtp::Duration::zero() ? 0 : ceil<milliseconds>(in).count() + 1;
    uv_timer_start(
        timer_.get(),
        [](uv_timer_t* t) {
            if (auto* self = owner_of<Timer>(t)) self->fired_();
        },
        static_cast<std::uint64_t>(wait), 0);
}

std::optional<smtp::Monotonic> Deadlines::next() {
    settle_top();
    if (heap_.empty()) return {};
    return heap_.front().at;
}

void Deadlines::advance(smtp::Monotonic now) {
    for (auto first = next(); first && *first <= now; first = next()) {
        Deadline& passed = *heap_.front().deadline;
        remove(0);
        passed.due_.reset();
        passed.passed_(); // may destroy it
    }
}

void Deadlines::set(Deadline& deadline) {
    const auto due = *deadline.due_;
    if (deadline.position_ == Deadline::none) {
        heap_.push_back({due, &deadline});
        up(heap_.size() - 1);
    } else if (due < heap_[deadline.position_].at) {
        heap_[deadline.position_].at = due;
        up(deadline.position_);
    } else {
        return; // corrected when it reaches the top
    }
    if (deadline.position_ == 0 && on_earlier_) on_earlier_();
}

void Deadlines::remove(std::size_t position) {
    heap_[position].deadline->position_ = Deadline::none;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (position == heap_.size()) return;
    place(position, last);
    up(position);
    down(last.deadline->position_);
}

// Makes sure that the first entry is really due when it says.
void Deadlines::settle_top() {
    while (!heap_.empty()) {
        Entry& top = heap_.front();
        const auto due = top.deadline->due_;
        if (due == top.at) return;
        if (!due) {
            remove(0);
        } else {
            top.at = *due;
            down(0);
        }
    }
}

void Deadlines::place(std::size_t position, Entry entry) {
    heap_[position] = entry;
    entry.deadline->position_ = position;
}

void Deadlines::up(std::size_t position) {
    const Entry entry = heap_[position];
    while (position > 0) {
        const std::size_t parent = (position - 1) / 2;
        if (heap_[parent].at <= entry.at) break;
        place(position, heap_[parent]);
        position = parent;
    }
    place(position, entry);
}

void Deadlines::down(std::size_t position) {
    const Entry entry = heap_[position];
    for (;;) {
        std::size_t child = 2 * position + 1;
        if (child >= heap_.size()) break;
        if (child + 1 < heap_.size() && heap_[child + 1].at < heap_[child].at) ++child;
        if (entry.at <= heap_[child].at) break;
        place(position, heap_[child]);
        position = child;
    }
    place(position, entry);
}

LoopDeadlines::LoopDeadlines(Loop& loop)
    : hook_(loop, [this] { arm(); }), timer_(loop, [this] {
          hook_.schedule();
          deadlines_.advance(Loop::now().monotonic);
      }) {
    deadlines_.on_earlier([this] { hook_.schedule(); });
}

void LoopDeadlines::arm() {
    const auto next = deadlines_.next();
    if (next)
        timer_.start(*next - Loop::now().monotonic);
    else
        timer_.stop();
}

} // namespace common
