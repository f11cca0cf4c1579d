// The address of an external service on this host or its
// network: a UNIX socket or a TCP port. A value.
#pragma once
#include "daemons/common/net/network.h"
#include <optional>
#include <string>
#include <string_view>

namespace common {

// Of a UNIX socket whose path exceeds the 107 bytes of a socket address: it is reached through its directory.
inline constexpr std::size_t longest_socket_path = 4095, longest_socket_name = 80;

struct ServiceAddress {
    std::string path;  // of a UNIX socket; "" for TCP
    Endpoint endpoint; // if path is empty

    // Absolute paths: "unix:/run/x.sock", "/run/x.sock", "inet:127.0.0.1:8891", "127.0.0.1:8891", "[::1]:8891".
    static std::optional<ServiceAddress> parse(std::string_view text);
    std::string to_string() const;
    bool operator==(const ServiceAddress&) const = default;
};

} // namespace common
