// Connections redirected for tests: [testing], accepted in single-user mode only. Values.
#pragma once
#include "daemons/common/net/network.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace config {

// That host, or address, at that port is really somewhere else.
struct ConnectTo {
    std::string host; // lower case, or an address as IpAddress::to_string() has it
    std::uint16_t port = 25;
    common::Endpoint to;
    // "mx.example.com:25=127.0.0.1:2525", "[2001:db8::1]:25=[::1]:2525"
    static std::optional<ConnectTo> parse(std::string_view text);
    std::string to_string() const;
    bool operator==(const ConnectTo&) const = default;
};

struct Testing { // refused unless in single-user mode
    std::vector<ConnectTo> connect_to;
};

} // namespace config
