// The address of a web server's resource, "https://hooks.example.com:8443/mail?x=1", as a value: parsed by libcurl, so
// that it means the same when it is used. Knows no socket and no name lookup.
#pragma once
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace common {

struct WebAddress {
    static constexpr std::size_t longest = 2048;

    bool encrypted = true; // https, not http
    std::string host;      // lower case; an IPv6 address in brackets
    std::uint16_t port = 443;
    std::string target = "/"; // path and query

    // The error is for the administrator: "expected an address such as …".
    static std::expected<WebAddress, std::string> parse(std::string_view text);
    // "localhost", or a loopback address.
    bool is_loopback() const;
    bool operator==(const WebAddress&) const = default;
};

} // namespace common
