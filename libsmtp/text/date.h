// Dates as written in header fields (RFC 5322, 3.3), logs and reports,
// for any year: std::format and fmt count in nanoseconds, which end in
// 2262. The clock and the zone are passed in; nothing is read here.
#pragma once
#include "libsmtp/text/time_types.h"
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace smtp {

// As header fields, mailboxes and logs abbreviate them.
inline constexpr std::array<std::string_view, 12> month_names = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                                 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// "Fri, 20 Nov 2026 16:54:58 +0100": wall-clock time where the offset from UTC is `zone`.
std::string rfc5322_date(WallTime time, std::chrono::minutes zone = std::chrono::minutes{0});

// "2026-11-20T15:54:58Z"
std::string rfc3339_date(WallTime time);

// "2026-11-20": the day in UTC.
std::string iso_date(WallTime time);

// "20261120155458": UTC, digits only, as used in Message-IDs.
std::string compact_date(WallTime time);

// "2026-11-20T16:00:00Z" or with an offset, "+01:00" (RFC 3339, without fractions).
std::optional<WallTime> parse_rfc3339(std::string_view text);

} // namespace smtp
