#include "daemons/common/config/sections/system/testing.h"
#include "daemons/decide/routing/routing.h"
#include <fmt/format.h>

namespace config {

std::optional<ConnectTo> ConnectTo::parse(std::string_view text) {
    const auto equals = text.find('=');
    if (equals == text.npos) return {};
    const auto to = common::Endpoint::parse(text.substr(equals + 1));
    if (!to) return {};
    text = text.substr(0, equals);
    if (const auto literal = common::Endpoint::parse(text))
        return ConnectTo{literal->address.to_string(), literal->port, *to};
    // A next hop in brackets is written alike: a host, and a port that may be left out.
    const auto colon = text.find(':');
    const auto host = fmt::format("[{}]{}", text.substr(0, colon), colon == text.npos ? "" : text.substr(colon));
    const auto hop = decide::NextHop::parse(host);
    if (!hop) return {};
    return ConnectTo{hop->name, hop->port, *to};
}

std::string ConnectTo::to_string() const {
    const auto literal = common::IpAddress::parse(host);
    return (literal ? common::Endpoint{*literal, port}.to_string() : fmt::format("{}:{}", host, port)) + "=" +
           to.to_string();
}

} // namespace config
