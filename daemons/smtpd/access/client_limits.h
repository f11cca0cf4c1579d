// Counts the sessions and the connections per minute of each client network, and says when one has too many.
// Knows no clock and no sockets. Empty entries go by themselves.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace smtpd {

class ClientLimits {
public:
    struct Limits {
        std::uint32_t sessions = 0;   // at a time, of one network; 0: no limit
        std::uint32_t per_minute = 0; // new connections of one network; 0: no limit
    };
    enum class Admission : std::uint8_t { admitted, too_many_sessions, too_many_connections };

    // A connection has come; if it is admitted, release() must be told when it has gone.
    Admission admit(const std::string& network, const Limits& limits, smtp::Monotonic now);
    void release(const std::string& network);
    std::size_t networks() const { return counts_.size(); }

private:
    struct Count {
        std::uint32_t sessions = 0, connections = 0;
        smtp::Monotonic minute; // when the counting of connections began
    };
    void sweep(smtp::Monotonic now);

    std::unordered_map<std::string, Count> counts_;
    smtp::Monotonic last_sweep_;
};

// The limit that it exceeds: a key of the configuration.
constexpr std::string_view key_of(ClientLimits::Admission admission) {
    return admission == ClientLimits::Admission::too_many_sessions ? "sessions_per_network" : "connections_per_minute";
}

} // namespace smtpd
