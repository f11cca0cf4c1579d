// How many of something happened lately: counts of five seconds each over the last minute, and of the minutes of the
// last hour. Told the time.
#pragma once
#include "daemons/queue-manager/engine_driver/minutes.h"
#include "libsmtp/text/time_types.h"
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

namespace queue_manager {

class Rate {
public:
    void count(smtp::Monotonic now, std::uint32_t by = 1) {
        slot(now) += by;
        minutes_.count(now, by);
    }
    std::vector<std::uint32_t> by_minute(smtp::Monotonic now) { return minutes_.last_hour(now); }
    // A second, over the last minute (or since the first look, if that is shorter).
    double per_second(smtp::Monotonic now) {
        slot(now);
        std::uint64_t sum = 0;
        for (const auto each : counts_) sum += each;
        const auto age = std::chrono::duration<double>(now - began_).count();
        return static_cast<double>(sum) / std::clamp(age, 1.0, 60.0);
    }

private:
    static constexpr auto width = std::chrono::seconds(5);
    std::uint32_t& slot(smtp::Monotonic now) {
        if (last_ == smtp::Monotonic{}) began_ = last_ = now;
        for (int n = 0; now - last_ >= width; ++n) {
            if (n == 12) {
                last_ = now;
                break;
            }
            last_ += width;
            at_ = (at_ + 1) % counts_.size();
            counts_[at_] = 0;
        }
        return counts_[at_];
    }

    std::array<std::uint32_t, 12> counts_{};
    std::size_t at_ = 0;
    smtp::Monotonic began_{}, last_{};
    Minutes minutes_;
};

} // namespace queue_manager
