// How long to wait after the n-th failure in a row. Pure; jitter comes from the engine's seed.
#pragma once
#include "daemons/decide/queue/settings.h"
#include <cstdint>
#include <string>

namespace decide::queue {

// A small reproducible generator (splitmix64).
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t number() {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    double fraction() { return static_cast<double>(number() >> 11) * 0x1.0p-53; } // [0, 1)

private:
    std::uint64_t state_;
};

// The wait after `failures` failures in a row (1, 2, …), without jitter.
smtp::Duration rung(const Ladder& ladder, std::uint32_t failures);
// The schedule of [queue], with the route's values where set.
Ladder ladder_of(const Settings& settings, const RouteSettings& route);
// The wait of a named policy after this number of failures, without jitter.
smtp::Duration wait_of(const RetryPolicy& policy, const Ladder& ladder, std::uint32_t failures);

// The same name and the same values.
bool operator==(const RetryPolicy& a, const RetryPolicy& b);
// "exponential: 5s, 10s, 20s … (factor 2), 10 tries": shows which policy applies to a message.
std::string text_of(const RetryPolicy& policy);

// Lengthened by 0 to `jitter`, never shortened.
smtp::Duration jittered(double jitter, smtp::Duration wait, Random& random);

// first, 2·first, 4·first … up to most, for services that fail.
smtp::Duration doubling(smtp::Duration first, smtp::Duration most, std::uint32_t failures);

} // namespace decide::queue
