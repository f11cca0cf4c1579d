// Dates as header fields write them (RFC 5322, 3.3). The clock and the zone are passed in; nothing is read
// here.
#pragma once
#include "libsmtp/time.h"
#include <chrono>
#include <string>

namespace smtp {

// "Fri, 20 Nov 2026 16:54:58 +0100": wall-clock time where the offset from UTC is `zone`.
std::string rfc5322_date(WallTime time, std::chrono::minutes zone = std::chrono::minutes{0});

// "20261120155458": UTC, digits only, as used in Message-IDs.
std::string compact_date(WallTime time);

} // namespace smtp
