// Mail that a table sends to its own domain's MX hosts, whatever the routes say: "mx" in our tables, "smtp:" in those
// of Postfix. A value; knows no route.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace decide {

struct OwnHosts {
    std::string domain; // the recipient's, in lower case
    std::uint16_t port = 25;

    // Of a next hop "mx" or "mx:2525", as a table has it. Empty: it is another one.
    static std::optional<OwnHosts> of(std::string_view next_hop, std::string domain);
    // "mx:remote.example", "mx:2525:remote.example"
    static std::optional<OwnHosts> parse(std::string_view text);
    std::string to_string() const;
    bool operator==(const OwnHosts&) const = default;
};

} // namespace decide
