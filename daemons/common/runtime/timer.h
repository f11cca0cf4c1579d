// Timers of a daemon. Timer: one callback, once. Deadlines: very many of which few ever fire (one or two
// per connection); it knows no clock and is tested with a manual one; LoopDeadlines drives it on a loop.
#pragma once
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/uv_handle.h"
#include "libsmtp/text/time_types.h"
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace common {

class Timer {
public:
    Timer(Loop& loop, std::function<void()> fired);
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    // Once, not before `in` has passed (millisecond steps); replaces what was set.
    void start(smtp::Duration in);
    void stop() { uv_timer_stop(timer_.get()); }
    bool armed() const { return uv_is_active(reinterpret_cast<const uv_handle_t*>(timer_.get())) != 0; }

private:
    std::function<void()> fired_;
    Handle<uv_timer_t> timer_;
};

class Deadline;

// A heap ordered by due time. Moving a deadline further away (what connections do all day) and clearing it
// touch no heap: the entry is put right when it comes to the top.
class Deadlines {
public:
    Deadlines() = default;
    Deadlines(const Deadlines&) = delete;
    Deadlines& operator=(const Deadlines&) = delete;

    // When the first is due.
    std::optional<smtp::Monotonic> next();
    // Runs what is due, in order of time; a callback may set, clear or destroy any deadline.
    void advance(smtp::Monotonic now);
    // Called when something becomes due earlier than all before.
    void on_earlier(std::function<void()> callback) { on_earlier_ = std::move(callback); }

private:
    friend class Deadline;
    struct Entry {
        smtp::Monotonic at;
        Deadline* deadline;
    };
    void place(std::size_t position, Entry entry);
    void up(std::size_t position);
    void down(std::size_t position);
    void set(Deadline& deadline);
    void remove(std::size_t position);
    void settle_top();

    std::vector<Entry> heap_;
    std::function<void()> on_earlier_;
};

// A member of what waits. Must not outlive its Deadlines.
class Deadline {
public:
    Deadline(Deadlines& deadlines, std::function<void()> passed) : deadlines_(deadlines), passed_(std::move(passed)) {}
    ~Deadline() {
        if (position_ != none) deadlines_.remove(position_);
    }
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;

    void set(smtp::Monotonic at) {
        due_ = at;
        deadlines_.set(*this);
    }
    void clear() { due_.reset(); }
    std::optional<smtp::Monotonic> due() const { return due_; }

private:
    friend class Deadlines;
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    Deadlines& deadlines_;
    std::function<void()> passed_;
    std::optional<smtp::Monotonic> due_;
    std::size_t position_ = none;
};

// Deadlines that run by the loop's clock.
class LoopDeadlines {
public:
    explicit LoopDeadlines(Loop& loop);
    Deadlines& deadlines() { return deadlines_; }
    operator Deadlines&() { return deadlines_; }

private:
    void arm();
    Deadlines deadlines_;
    TurnHook hook_;
    Timer timer_;
};

} // namespace common
