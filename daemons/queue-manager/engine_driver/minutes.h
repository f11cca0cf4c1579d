// How many of something happened in each of the last sixty minutes. Told the time; 240 bytes.
#pragma once
#include "libsmtp/text/time_types.h"
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace queue_manager {

class Minutes {
public:
    static constexpr std::size_t kept = 60;

    void count(smtp::Monotonic now, std::uint32_t by = 1) { minute(now) += by; }
    // The oldest first, the last one of the minute that has begun; fewer, as long as fewer are known.
    std::vector<std::uint32_t> last_hour(smtp::Monotonic now) {
        minute(now);
        std::vector<std::uint32_t> out;
        for (std::size_t n = known_; n > 0; --n) out.push_back(counts_[(at_ + kept - (n - 1)) % kept]);
        return out;
    }

private:
    std::uint32_t& minute(smtp::Monotonic now) {
        if (known_ == 0) {
            begun_ = now;
            known_ = 1;
        }
        if (now - begun_ >= kept * std::chrono::minutes(1)) { // nothing is left of what was
            begun_ += std::chrono::floor<std::chrono::minutes>(now - begun_);
            counts_ = {};
            known_ = kept;
        }
        while (now - begun_ >= std::chrono::minutes(1)) {
            begun_ += std::chrono::minutes(1);
            at_ = (at_ + 1) % kept;
            counts_[at_] = 0;
            if (known_ < kept) ++known_;
        }
        return counts_[at_];
    }

    std::array<std::uint32_t, kept> counts_{};
    std::size_t at_ = 0, known_ = 0;
    smtp::Monotonic begun_{};
};

} // namespace queue_manager
