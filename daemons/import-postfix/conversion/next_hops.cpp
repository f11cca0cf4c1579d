#include "daemons/import-postfix/conversion/next_hops.h"
#include "daemons/common/net/network.h"
#include "daemons/common/net/service_address.h"
#include "daemons/decide/routing/routing.h"
#include "daemons/import-postfix/conversion/import.h"
#include "daemons/import-postfix/postfix/lists.h"
#include <fmt/format.h>

namespace postrider {

using decide::NextHop;

std::optional<std::string> next_hop(std::string_view text) {
    const auto hop = postfix::destination_of(text);
    if (!hop || hop->path) return {};
    const bool address = common::IpAddress::parse(hop->host).has_value();
    auto out = hop->brackets || address ? fmt::format("[{}]", hop->host) : hop->host;
    if (hop->port != 0 && hop->port != 25) out += fmt::format(":{}", hop->port);
    const auto parsed = NextHop::parse(out);
    return parsed ? std::optional(parsed->to_string()) : std::nullopt;
}

std::optional<std::string> lmtp_hop(Import& import, std::string_view text) {
    const auto hop = postfix::destination_of(text);
    if (!hop) return {};
    auto out = hop->path ? "lmtp:" + import.queue_path(hop->host) : fmt::format("lmtp:[{}]", hop->host);
    if (!hop->path && hop->port != 0) out += fmt::format(":{}", hop->port);
    const auto parsed = NextHop::parse(out);
    return parsed ? std::optional(parsed->to_string()) : std::nullopt;
}

bool keeps_mail_from_leaving(std::string_view transport) {
    const auto name = transport.substr(0, transport.find(':'));
    return name == "error" || name == "retry" || name == "discard";
}

std::optional<std::string> service_address(Import& import, std::string_view text) {
    const auto place = postfix::destination_of(text);
    if (!place) return {};
    std::string address;
    if (place->path)
        address = "unix:" + import.queue_path(place->host);
    else if (place->host.find(':') != std::string::npos)
        address = fmt::format("inet:[{}]:{}", place->host, place->port);
    else
        address = fmt::format("inet:{}:{}", place->host == "localhost" ? "127.0.0.1" : place->host, place->port);
    return common::ServiceAddress::parse(address) ? std::optional(address) : std::nullopt;
}

} // namespace postrider
