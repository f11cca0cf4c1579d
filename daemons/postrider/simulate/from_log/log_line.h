// One line of a mail log, as Postfix's programs and ours write it, taken apart: what it says of a message or of a host.
// Knows the form of lines only. Pure; any bytes. What it returns points into the line.
#pragma once
#include "libsmtp/time.h"
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace postrider::simulate::from_log {

// As it is written: "Nov 23 19:52:02", or "2026-11-23T19:52:02.123456+01:00" (RFC 3339).
struct LogTime {
    int year = 0; // 0: it does not say
    unsigned month = 1, day = 1;
    smtp::Duration time{}; // since midnight
    smtp::Duration zone{}; // east of UTC; only with a year
};

// "mx.example.org[192.0.2.1]:25"; a name alone is none ("local", "none").
struct Relay {
    std::string_view name;
    std::uint16_t port = 0; // 0: it does not say
    static std::optional<Relay> parse(std::string_view text);
};

struct Queued { // "from=<ann@example.org>, size=4096, nrcpt=1 (queue active)"
    std::string_view sender;
    std::uint64_t size = 0;
};

struct Delivery { // "to=<bob@example.net>, relay=…, delay=…, delays=…, dsn=…, status=sent (…)"
    std::string_view recipient;
    std::optional<Relay> relay;
    bool reused = false; // the connection was there already
    smtp::Duration delay{};
    std::optional<smtp::Duration> connect, transmission; // the last two of the four delays
    std::string_view status;                             // "sent", "deferred", "bounced", …
    std::string_view text;                               // what stands in parentheses
};

struct Expired {};                              // "from=<…>, status=expired, returned to sender"
struct Reported { std::string_view report; };   // "sender non-delivery notification: 4ABC"
struct Setback { std::string_view text; };      // of a host that was tried, when there is another: "connect to …: …"

struct LogLine {
    LogTime when;
    std::string_view id; // of the message; "" where it names none
    std::variant<Queued, Delivery, Expired, Reported, Setback> what;
};

// Nothing: it says nothing of a message on its way, as most lines do not.
std::optional<LogLine> read_line(std::string_view line);
// The time that a line begins with.
std::optional<LogTime> read_time(std::string_view& line);

} // namespace postrider::simulate::from_log
