// Where mail is submitted, by SRV records (RFC 6186, RFC 8314): hosts with TLS from the first byte before those
// with STARTTLS. Pure: lookups are made by the caller and passed in as values; the order among hosts is
// host_order.h's.
#pragma once
#include "daemons/decide/hosts/mx.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

struct SrvRecord {
    std::uint16_t priority = 0, weight = 0, port = 0;
    std::string target; // lower case, no dot at the end; "" = ".": not offered
    bool operator==(const SrvRecord&) const = default;
};

// What was said of one of the two names.
struct SrvAnswer {
    LookupStatus status = LookupStatus::failed;
    std::vector<SrvRecord> records;
    std::string why; // failed
};

inline constexpr std::string_view submissions = "_submissions._tcp."; // of the domain: TLS from the first byte
inline constexpr std::string_view submission = "_submission._tcp.";   // STARTTLS

Destination decide_srv(std::string_view domain, const SrvAnswer& wrapped, const SrvAnswer& starttls,
                       const IsSelf& is_self);

} // namespace decide
