#include "daemons/decide/routing/route_name.h"
#include "daemons/decide/routing/host_list.h"
#include <algorithm>
#include <iterator>

namespace decide {

namespace {

// Words that a transport or a next hop may have in front of its colon, and that are no routes.
constexpr std::string_view reserved[] = {"command", "defer", "discard", "error", "lmtp", "local",  "mx",
                                         "relay",   "retry", "smtp",    "srv",   "via",  "virtual"};

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<NextHop> host_or_name(std::string_view text) {
    auto hop = NextHop::parse(text);
    const bool fits = hop && hop->protocol == smtp::Protocol::smtp &&
                      (hop->kind == NextHop::Kind::host || hop->kind == NextHop::Kind::mx_of);
    return fits ? hop : std::nullopt;
}

// Of a domain that a recipient can have, and of nothing else: no port.
bool is_domain(std::string_view text) { return !text.empty() && text.find_first_of(":@/, ") == text.npos; }

} // namespace

bool is_route_name(std::string_view pattern) {
    return !pattern.empty() && pattern.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == pattern.npos &&
           !is_number(pattern) && std::ranges::find(reserved, pattern) == std::end(reserved);
}

std::optional<RouteName> RouteName::parse(std::string_view text) {
    const auto colon = text.find(':');
    if (colon == text.npos || !is_route_name(text.substr(0, colon))) return {};
    RouteName out{std::string(text.substr(0, colon)), {}, {}};
    const auto rest = text.substr(colon + 1);
    if (rest.empty()) return out;
    if (is_number(rest)) return {}; // host:25
    if (auto list = HostList::parse(rest)) {
        const auto by_smtp = [](const NextHop& hop) { return hop.protocol == smtp::Protocol::smtp; };
        if (!std::ranges::all_of(list->hosts, by_smtp)) return {};
        out.hop = std::move(list->hosts.front());
        out.further.assign(list->hosts.begin() + 1, list->hosts.end());
        return out;
    }
    if (rest.front() != '[' && is_domain(rest)) {
        out.domain = rest;
        return out;
    }
    if (!(out.hop = host_or_name(rest))) return {};
    return out;
}

std::optional<RouteName> RouteName::parse_entry(std::string_view text) {
    auto out = parse(text);
    if (!out || out->domain.empty()) return out;
    if (!(out->hop = host_or_name(out->domain))) return {};
    out->domain.clear();
    return out;
}

std::string RouteName::to_string() const {
    auto out = route + ":" + domain;
    if (!hop) return out;
    out += hop->to_string();
    if (hop->kind == NextHop::Kind::mx_of && hop->port == smtp::default_port(hop->protocol))
        out += ":" + std::to_string(hop->port);
    for (const auto& each : further) out += "," + each.to_string();
    return out;
}

TlsLevel tls_level(const RouteTable& routes, std::string_view domain, std::string_view route, TlsLevel otherwise) {
    const auto by_name = is_route_name(route) ? routes.tls_level_of(route, TlsLevel::by_default) : TlsLevel::by_default;
    if (by_name == TlsLevel::by_default) return routes.tls_level(domain, otherwise);
    const auto* own = routes.find(domain);
    const bool asks = own && own->pattern != "*" && own->tls != TlsLevel::by_default;
    return asks ? std::max(own->tls, by_name) : by_name;
}

std::string link_by(std::string_view route, std::string_view link) {
    std::string out(route);
    if (!route.empty()) out += ':';
    return out += link;
}

} // namespace decide
