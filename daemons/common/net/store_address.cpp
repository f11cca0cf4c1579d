#include "daemons/common/net/store_address.h"
#include "daemons/common/net/network.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>

namespace common {

namespace {

// All of the text, up to `most`.
std::optional<std::uint32_t> number_in(std::string_view text, std::uint32_t most) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number > most) return {};
    return number;
}

bool is_host_name(std::string_view text) {
    constexpr std::size_t longest_name = 253;
    return !text.empty() && text.size() <= longest_name && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    });
}

} // namespace

std::expected<StoreAddress, std::string> StoreAddress::parse(std::string_view text) {
    const auto refuse = [&](std::string_view why) {
        return std::unexpected(fmt::format("\"{}\" {}", text.substr(0, 200), why));
    };
    constexpr std::string_view plain = "redis://", tls = "rediss://";
    StoreAddress out;
    out.encrypted = text.starts_with(tls);
    if (text.size() > longest || (!out.encrypted && !text.starts_with(plain)))
        return refuse("is not a valid store: expected an address such as \"rediss://store.example.com:6379\"");
    auto rest = text.substr(out.encrypted ? tls.size() : plain.size());
    if (rest.find('@') != rest.npos) // not repeated: it may be a password
        return std::unexpected(std::string("has a user name or password: set fleet.user and fleet.password_file"));
    if (const auto slash = rest.find('/'); slash != rest.npos) {
        const auto path = rest.substr(slash + 1);
        const auto number = path.empty() ? std::optional<std::uint32_t>(0) : number_in(path, largest_database);
        if (!number) return refuse("names no database: expected a number after the \"/\"");
        out.database = *number;
        rest = rest.substr(0, slash);
    }
    const auto bracket = rest.rfind(']'), colon = rest.rfind(':');
    if (colon != rest.npos && (bracket == rest.npos || colon > bracket)) {
        const auto port = number_in(rest.substr(colon + 1), 65535);
        if (!port || *port == 0) return refuse("has no valid port: expected a number from 1 to 65535");
        out.port = static_cast<std::uint16_t>(*port);
        rest = rest.substr(0, colon);
    }
    if (rest.starts_with('[') && rest.ends_with(']')) {
        out.host = rest.substr(1, rest.size() - 2);
        const auto address = IpAddress::parse(out.host);
        if (!address || address->is_v4()) return refuse("has no valid IPv6 address in its brackets");
        return out;
    }
    out.host = rest;
    std::ranges::transform(out.host, out.host.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (!is_host_name(out.host)) return refuse("has no valid host: expected a name, or an IP address");
    return out;
}

} // namespace common
