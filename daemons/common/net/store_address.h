// The address of the store that the nodes of a fleet share, "rediss://store.example.com:6379/2", as a value. Knows no
// socket and no name lookup; user and password are not part of it.
#pragma once
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace common {

struct StoreAddress {
    static constexpr std::size_t longest = 512;
    static constexpr std::uint32_t largest_database = 65535;

    bool encrypted = false; // rediss
    std::string host;       // a name in lower case, or an IP address without brackets
    std::uint16_t port = 6379;
    std::uint32_t database = 0;

    // The error is for the administrator.
    static std::expected<StoreAddress, std::string> parse(std::string_view text);
    bool operator==(const StoreAddress&) const = default;
};

} // namespace common
