// Pools of source addresses: where connections to other systems come from, and which mail
// uses which pool. Values; whether this host has an address is known only when it is bound.
#pragma once
#include "daemons/common/net/network.h"
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace config {

struct SourceAddress {
    common::IpAddress address;
    std::string helo;         // never empty after parse(): smtp_client.helo
    std::uint32_t weight = 1; // its share of the connections, against others of its family; 1 … 1000

    // "192.0.2.1", "192.0.2.1 mx1.example.com", "2001:db8::1 mx1.example.com 3". Else what is wrong with it.
    static std::optional<std::string> read(std::string_view text, SourceAddress& out);
    std::string to_string() const;
    bool operator==(const SourceAddress&) const = default;
};

struct Pool { // [pool.<name>]
    // An address that is not this host's is tried again after that.
    static constexpr std::chrono::microseconds backoff_when_unusable = std::chrono::minutes(1);

    std::string name;
    std::vector<SourceAddress> addresses;
    std::chrono::microseconds backoff = std::chrono::hours(1); // of an address that a site has refused
};

struct Pools { // [pools]
    // "ann@example.org", "@example.org", in lower case → name of the pool
    std::map<std::string, std::string, std::less<>> by_sender;
};

} // namespace config
