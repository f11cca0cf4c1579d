// How much each client network or user has sent recently: a token bucket each,
// refilled evenly. Knows no clock and no sockets. Full buckets are dropped.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <string>
#include <unordered_map>

namespace common {

class RateLimiter {
public:
    // `count` more of what `key` names, of which there may be `limit` in `window` (0: any number). False: too
    // many; they do not count then. More than the limit at once is taken for the limit.
    bool take(const std::string& key, std::uint32_t limit, smtp::Duration window, smtp::Monotonic now,
              std::uint32_t count = 1);
    std::size_t size() const { return buckets_.size(); }

private:
    struct Bucket {
        std::int64_t tokens = 0;
        smtp::Monotonic at, full; // when tokens were counted; when there will be all of them again
    };
    void sweep(smtp::Monotonic now);
    std::unordered_map<std::string, Bucket> buckets_;
    smtp::Monotonic swept_;
};

} // namespace common
