// What the store does for a rate (daemons/fleet/rates/token_script.cpp), line by line, by a clock of its own.
#pragma once
#include "daemons/decide/queue/rates/rate_lease.h"
#include <algorithm>
#include <map>
#include <optional>
#include <string>

namespace decide::queue::test {

class ModelStore {
public:
    RateLease::Answer grant(const std::string& limit, const RateLease::Question& question, std::int64_t now) {
        ++calls;
        const auto gap = question.gap.count(), horizon = RateLease::horizon.count();
        if (!born_ || *born_ > now) born_ = now;
        auto start = std::max(now, *born_ + horizon);
        if (const auto known = kept_.find(limit); known != kept_.end()) {
            Kept& kept = known->second;
            const auto its = std::min(kept.gap, gap);
            if (kept.last > now + horizon) kept = {now + horizon, its};
            start = std::max(start, kept.last + its);
        }
        RateLease::Answer out{.number = question.number, .known = true};
        if (start > now + horizon) {
            out.wait = smtp::Duration(start - now - horizon);
            return out;
        }
        const auto granted = std::min<std::int64_t>(question.count, (now + horizon - start) / gap + 1);
        kept_[limit] = {start + (granted - 1) * gap, gap};
        out.count = static_cast<std::uint32_t>(granted);
        out.delay = smtp::Duration(start - now);
        return out;
    }
    // It was started again without its data.
    void lose_everything() {
        born_.reset();
        kept_.clear();
    }

    std::uint64_t calls = 0;

private:
    std::optional<std::int64_t> born_;
    struct Kept { // of a limit
        std::int64_t last = 0, gap = 0;
    };
    std::map<std::string, Kept> kept_;
};

} // namespace decide::queue::test
