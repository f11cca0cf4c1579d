// The two clocks of a mail system as plain types. Nothing here
// reads a clock: the owner of one passes the time in.
#pragma once
#include <chrono>
#include <compare>

namespace smtp {

// Microseconds since 1970-01-01 UTC: what is written to disk, logs and headers. May step.
using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

// Microseconds of a clock that never steps; meaningless outside this boot.
using Monotonic = std::chrono::time_point<std::chrono::steady_clock, std::chrono::microseconds>;

using Duration = std::chrono::microseconds;

struct Now {
    Monotonic monotonic;
    WallTime wall;
};

} // namespace smtp
