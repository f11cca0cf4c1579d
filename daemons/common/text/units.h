// Durations ("60s", "1h30m"), times and sizes ("50MiB") as written in a configuration. Pure text ↔ numbers.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace config {

// A whole number and a unit (ms, s, m, h, d, w), or several such parts: "1h30m". Never negative; at most ten
// years.
std::optional<smtp::Duration> parse_duration(std::string_view text);
// A point in time (RFC 3339), or a span from `start`: whole seconds, never earlier than was asked for.
std::optional<smtp::WallTime> parse_time(std::string_view text, smtp::WallTime start);
std::string print_duration(smtp::Duration duration); // "10m"

// A whole number of bytes, or with B, KiB, MiB, GiB.
std::optional<std::uint64_t> parse_size(std::string_view text);
std::string print_size(std::uint64_t bytes); // "50MiB"

} // namespace config
