// IP addresses and networks as values: parsed, printed, compared, matched.
// IPv4 is kept as ::ffff:a.b.c.d, so that a client that came through a
// dual-stack socket is the same client. Knows no socket and no name lookup.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sockaddr;

namespace common {

struct IpAddress {
    std::array<std::uint8_t, 16> bytes{};

    // "192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1" (which is 192.0.2.1); no brackets, no zone, no names.
    static std::optional<IpAddress> parse(std::string_view text);
    // AF_INET and AF_INET6; anything else is empty.
    static std::optional<IpAddress> of(const sockaddr* address);
    bool is_v4() const;
    bool is_loopback() const;
    bool is_wildcard() const; // 0.0.0.0, ::
    std::string to_string() const;
    auto operator<=>(const IpAddress&) const = default;
};

struct Network {
    IpAddress base;
    int bits = 128; // of 128; an IPv4 /24 is 120

    // "127.0.0.0/8", "2001:db8::/32", "[2001:db8::]/32", or one address. Bits beyond the prefix must be zero.
    static std::optional<Network> parse(std::string_view text);
    bool contains(const IpAddress& address) const;
    std::string to_string() const;
    bool operator==(const Network&) const = default;
};

bool contains(const std::vector<Network>& networks, const IpAddress& address);

// Where to listen or to connect: a numeric address and a port; or, to connect only, a UNIX socket's path.
struct Endpoint {
    IpAddress address;
    std::uint16_t port = 0;
    std::string path = {}; // then address and port are zero

    // "127.0.0.1:25", "[::1]:25"; the port may be left out if `default_port` is not 0.
    static std::optional<Endpoint> parse(std::string_view text, std::uint16_t default_port = 0);
    std::string to_string() const;
    bool operator==(const Endpoint&) const = default;
};

} // namespace common
