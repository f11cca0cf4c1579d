#include "daemons/common/submission/rate_limits.h"
#include <algorithm>

namespace common {

using namespace std::chrono_literals;

bool RateLimiter::take(const std::string& key, std::uint32_t limit, smtp::Duration window, smtp::Monotonic now,
                       std::uint32_t count) {
    if (limit == 0) return true;
    if (now - swept_ > 1min) sweep(now);
    // In tokens of which one event takes `window` and `limit` come back each microsecond: whole numbers.
    const auto one = window.count(), most = one * limit;
    auto [at, is_new] = buckets_.try_emplace(key, Bucket{most, now, now});
    auto& bucket = at->second;
    bucket.tokens = std::min(most, bucket.tokens + std::min(now - bucket.at, window).count() * limit);
    bucket.at = now;
    const auto wanted = one * std::min(count, limit);
    const bool enough = bucket.tokens >= wanted;
    if (enough) bucket.tokens -= wanted;
    bucket.full = now + smtp::Duration((most - bucket.tokens) / limit);
    return enough;
}

void RateLimiter::sweep(smtp::Monotonic now) {
    swept_ = now;
    std::erase_if(buckets_, [&](const auto& entry) { return entry.second.full <= now; });
}

} // namespace common
