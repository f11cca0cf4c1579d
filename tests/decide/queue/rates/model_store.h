// What the store does for a rate (daemons/fleet/token_script.cpp), line by line, by a clock of its own.
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
        const auto known = next_.find(limit);
        auto next = known == next_.end() ? 0 : known->second;
        const auto start = std::max({std::min(next, now + horizon + gap), now, *born_ + horizon});
        RateLease::Answer out{.number = question.number, .known = true};
        if (start > now + horizon) {
            out.wait = smtp::Duration(start - now - horizon);
            return out;
        }
        const auto granted = std::min<std::int64_t>(question.count, (now + horizon - start) / gap + 1);
        next_[limit] = start + granted * gap;
        out.count = static_cast<std::uint32_t>(granted);
        out.delay = smtp::Duration(start - now);
        return out;
    }
    // It was started again without its data.
    void lose_everything() {
        born_.reset();
        next_.clear();
    }

    std::uint64_t calls = 0;

private:
    std::optional<std::int64_t> born_;
    std::map<std::string, std::int64_t> next_;
};

} // namespace decide::queue::test
