// How many connections one link may have now. Doubles per round of successes until the peer pushes back, then
// stays just under what it took and feels its way up again slowly.
#pragma once
#include <algorithm>
#include <cstdint>

namespace decide::queue {

class Window {
public:
    Window() = default;
    Window(std::uint32_t start, std::uint32_t limit) : limit_(std::max(limit, 1u)) {
        size_ = std::clamp(start, 1u, limit_);
    }

    std::uint32_t size() const { return size_; }
    std::uint32_t limit() const { return limit_; }

    // A transaction went well while all of the window was in use.
    void success() {
        if (size_ >= limit_) return;
        if (size_ < slow_growth_from_) {
            ++size_;
        } else if (++successes_ >= size_ * successes_per_step) {
            ++size_;
            successes_ = 0;
        }
    }
    // The peer took `open` connections and no more.
    void push_back(std::uint32_t open) {
        size_ = std::max(1u, std::min(size_, open));
        slow_growth_from_ = size_;
        successes_ = 0;
    }
    // Nothing gets through: begin again with one.
    void failed() {
        size_ = 1;
        slow_growth_from_ = limit_;
        successes_ = 0;
    }
    void set_limit(std::uint32_t limit) {
        limit_ = std::max(limit, 1u);
        size_ = std::min(size_, limit_);
    }

private:
    static constexpr std::uint32_t successes_per_step = 10;
    std::uint32_t size_ = 1;
    std::uint32_t limit_ = 1;
    std::uint32_t slow_growth_from_ = ~0u; // grow slowly from here on
    std::uint32_t successes_ = 0;
};

} // namespace decide::queue
