#include "daemons/decide/rerouting.h"

namespace decide {

Destination configured(const std::vector<NextHop>& equals) {
    std::vector<Host> hosts;
    for (const auto& hop : equals) {
        hosts.push_back({hop.name, hop.port, 0});
        hosts.back().protocol = hop.protocol;
    }
    return Destination::of(Destination::Kind::configured, std::move(hosts));
}

Destination best(const RouteRule& rule, const IsDown& is_down) {
    for (const auto& equals : rule.next_hops) {
        auto found = configured(equals);
        if (!is_down(found.link)) return found;
    }
    return configured(rule.next_hops.front());
}

Destination named_by_rule(Destination destination) {
    if (destination.kind == Destination::Kind::permanent) {
        destination.kind = Destination::Kind::temporary;
        destination.status[0] = '4';
    }
    return destination;
}

} // namespace decide
