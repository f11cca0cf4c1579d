// Parses one line of a mail log written by Postfix or Postrider. Knows the format of lines only. Pure; accepts any
// bytes. The results point into the line.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace postrider::simulate::from_log {

// A timestamp as written: "Nov 23 19:52:02", or "2026-11-23T19:52:02.123456+01:00" (RFC 3339).
struct LogTime {
    int year = 0; // 0: not given
    unsigned month = 1, day = 1;
    smtp::Duration time{}; // since midnight
    smtp::Duration zone{}; // offset east of UTC; 0 without a year
};

// "mx.example.org[192.0.2.1]:25". A name without an address ("local", "none") is not a relay.
struct Relay {
    std::string_view name;
    std::uint16_t port = 0; // 0: not given
    static std::optional<Relay> parse(std::string_view text);
};

struct Queued { // "from=<ann@example.org>, size=4096, nrcpt=1 (queue active)"
    std::string_view sender;
    std::uint64_t size = 0;
};

struct Delivery { // "to=<bob@example.net>, relay=…, delay=…, delays=…, dsn=…, status=sent (…)"
    std::string_view recipient;
    std::optional<Relay> relay;
    bool reused = false; // sent over a connection that was already open
    smtp::Duration delay{};
    std::optional<smtp::Duration> connect, transmission; // the last two values of delays=
    std::string_view status;                             // "sent", "deferred", "bounced", …
    std::string_view text;                               // the text in parentheses
};

struct Expired {}; // "from=<…>, status=expired, returned to sender"
struct Reported {
    std::string_view report;
}; // "sender non-delivery notification: 4ABC"
struct HostFailure {
    std::string_view text;
}; // a failed host, before the next one is tried: "connect to …: …"

struct LogLine {
    LogTime when;
    std::string_view id; // queue id; "" if the line has none
    std::variant<Queued, Delivery, Expired, Reported, HostFailure> what;
};

// nullopt: the line does not concern a delivery.
std::optional<LogLine> read_line(std::string_view line);
// Reads and removes the timestamp at the beginning of a line.
std::optional<LogTime> read_time(std::string_view& line);

} // namespace postrider::simulate::from_log
