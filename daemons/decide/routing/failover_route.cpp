#include "daemons/decide/routing/failover_route.h"

namespace decide {

Destination configured(const std::vector<NextHop>& equals, bool tls_wrap) {
    std::vector<Host> hosts;
    for (const auto& hop : equals)
        hosts.push_back({hop.name, hop.port, 0, 0, Tier::first, tls_wrap, hop.protocol, hop.account});
    return Destination::of(RouteKind::configured, std::move(hosts));
}

Destination in_order(const std::vector<NextHop>& hops, bool tls_wrap) {
    std::vector<Host> hosts;
    for (const auto& hop : hops)
        hosts.push_back({hop.name, hop.port, static_cast<std::uint16_t>(hosts.size()), 0, Tier::first, tls_wrap,
                         hop.protocol, hop.account});
    return Destination::of(RouteKind::configured, std::move(hosts));
}

Destination best(const RouteRule& rule, const IsDown& is_down) {
    for (const auto& equals : rule.next_hops) {
        auto found = configured(equals, rule.tls_wrap);
        if (!is_down(found.link)) return found;
    }
    return configured(rule.next_hops.front(), rule.tls_wrap);
}

Destination with_fallback(Destination destination, const std::vector<NextHop>& fallback) {
    if (fallback.empty() || destination.includes_self) return destination;
    if (destination.kind == RouteKind::temporary) return configured(fallback);
    if (destination.kind != RouteKind::mx) return destination;
    for (const auto& hop : fallback)
        destination.hosts.push_back({hop.name, hop.port, 0, 0, Tier::fallback, false, hop.protocol, hop.account});
    return Destination::of(RouteKind::mx, std::move(destination.hosts));
}

Destination named_by_rule(Destination destination) {
    if (destination.kind == RouteKind::permanent) {
        destination.kind = RouteKind::temporary;
        destination.status[0] = '4';
    }
    return destination;
}

} // namespace decide
