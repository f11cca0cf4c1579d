// Virtual time, and what happens in it. Calls that are due at the same time are made in the order they were
// scheduled.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

namespace postrider::simulate {

class Schedule {
public:
    using Call = std::function<void()>;
    static constexpr smtp::Duration never = smtp::Duration::max();

    smtp::Duration time() const { return time_; } // since the scenario's beginning
    void advance(smtp::Duration to) { time_ = to; }

    void in(smtp::Duration delay, Call call) { at(time_ + delay, std::move(call)); }
    void at(smtp::Duration when, Call call) { calls_.push({when, ++scheduled_, std::move(call)}); }

    // When the next call is due, or `never`.
    smtp::Duration next() const { return calls_.empty() ? never : calls_.top().when; }
    void run_next() {
        const auto call = std::move(const_cast<Scheduled&>(calls_.top()).call); // it leaves the queue at once
        calls_.pop();
        call();
    }

private:
    struct Scheduled {
        smtp::Duration when;
        std::uint64_t number;
        Call call;
        bool operator>(const Scheduled& other) const {
            return std::tie(when, number) > std::tie(other.when, other.number);
        }
    };

    smtp::Duration time_{};
    std::uint64_t scheduled_ = 0;
    std::priority_queue<Scheduled, std::vector<Scheduled>, std::greater<>> calls_;
};

} // namespace postrider::simulate
