// Which sessions are closed when every session is in use and another client connects, so that neither a flood nor
// idle clients keep an honest one out: those of the network that has most, the least recently active first. Pure: no
// clock, no sockets.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace smtpd {

struct SessionInfo {
    enum class Activity : std::uint8_t {
        closing,        // asked to leave already, and not gone yet
        idle,           // between commands, or not even greeted
        in_transaction, // a transaction
        awaiting_reply, // we owe it a reply, or it has authenticated: never evicted
    };
    std::string_view network;
    smtp::Monotonic last_activity; // a whole command, or a piece of content
    Activity activity = Activity::idle;
};

// Up to `most` indices of `all` that make room for a client of network `newcomer`. Networks that have more sessions
// than the newcomer's will have lose theirs, the idle ones first; if none has more, only sessions that have been
// waiting for `grace` are evicted, and none of a smaller network than the newcomer's. Empty: there is no room for the
// newcomer.
std::vector<std::size_t> sessions_to_evict(std::span<const SessionInfo> all, std::string_view newcomer,
                                           std::size_t most, smtp::Monotonic now,
                                           smtp::Duration grace = std::chrono::seconds(1));

} // namespace smtpd
