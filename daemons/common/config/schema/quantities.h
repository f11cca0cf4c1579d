// The units of bytes and time in sections of the configuration.
#pragma once
#include "libsmtp/text/time_types.h"
#include <chrono>
#include <cstdint>

namespace config {

using smtp::Duration;
using namespace std::chrono_literals;
inline constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB;

} // namespace config
