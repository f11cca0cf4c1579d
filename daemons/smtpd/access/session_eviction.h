// Who gives way when every session is in use and another client comes, so that neither a flood nor idle
// holders keep an honest one out: whose network has most, and of that the one least was heard of. Pure: no
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
        closing,        // told to go already, and not gone yet
        idle,           // between commands, or not even greeted
        in_transaction, // a transaction
        awaiting_reply, // we owe it an answer, or it has authenticated: never gives way
    };
    std::string_view network;
    smtp::Monotonic last_activity; // a whole command, or a piece of content
    Activity activity = Activity::idle;
};

// Up to `most` indices of `all` that make room for a client of network `newcomer`. Networks that have more
// sessions than the newcomer's will have give theirs up, the idle ones first; where none has more, only those
// give way that have been waiting for `grace`, and none of a smaller network than the newcomer's. Empty: the
// newcomer is the one too many.
std::vector<std::size_t> sessions_to_evict(std::span<const SessionInfo> all, std::string_view newcomer,
                                           std::size_t most, smtp::Monotonic now,
                                           smtp::Duration grace = std::chrono::seconds(1));

} // namespace smtpd
