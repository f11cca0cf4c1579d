// How an attempt failed, apart from stage, code and text: the distinctions
// that advice and listings need. Knows no host and no message.
#pragma once
#include <cstdint>

namespace smtp {

struct FailureDetails {
    // Of a failure at the stage tls: what demanded it.
    enum class Demand : std::uint8_t {
        level,   // the configuration
        records, // the host's TLSA records
        policy,  // the domain's MTA-STS policy
        last_ = policy,
    };
    std::uint16_t error = 0;   // connect: what the system said (errno); 0: not known
    bool timed_out = false;    // nothing came in the time it had
    bool implicit_tls = false; // TLS from the first byte was tried
    Demand demand = Demand::level;
    bool operator==(const FailureDetails&) const = default;
};

} // namespace smtp
