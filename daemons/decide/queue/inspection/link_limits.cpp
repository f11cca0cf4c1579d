#include "daemons/decide/queue/inspection/link_limits.h"
#include <algorithm>
#include <fmt/format.h>

namespace decide::queue::inspection {

namespace {

using Number = std::uint32_t RouteSettings::*;

// The strictest of the routes by which mail comes to the link; none: it has no such limit.
void add_route_limit(std::vector<LinkLimit>& out, const View& view, const Link& l, std::string_view key,
                     Number number) {
    LinkLimit strictest;
    for (const auto& terms : l.terms) {
        const auto& rule = view.terms.rule(terms.rule).name;
        const auto route = view.settings.routes.find(rule);
        if (route == view.settings.routes.end()) continue;
        const auto its = route->second.*number;
        if (its == 0 || (strictest.value > 0 && its >= strictest.value)) continue;
        strictest = {std::string(key), its, fmt::format("route.\"{}\".{}", rule, key)};
    }
    if (strictest.value > 0) out.push_back(std::move(strictest));
}

} // namespace

std::string limit_key(const View& view, const Link& l) {
    if (l.limit > 0) return fmt::format("route.\"{}\".connections", view.terms.rule(l.limit_rule).name);
    if (l.kind == AgentKind::local) return "queue.connections_local";
    return l.mx ? "queue.connections_mx" : "queue.connections_route";
}

std::vector<LinkLimit> limits_of(const View& view, std::string_view link) {
    const Slot known = view.links.find(link);
    if (known == none) return {};
    const Link& l = view.links[known];
    const auto& settings = view.settings;
    std::vector<LinkLimit> out = {{"connections", l.window.limit(), limit_key(view, l)}};
    const auto add = [&out](std::string_view key, std::uint32_t value) {
        out.push_back({std::string(key), value, fmt::format("queue.{}", key)});
    };
    if (l.kind == AgentKind::local) {
        add("connections_per_user", settings.connections_per_user);
        return out;
    }
    if (l.mx) add("connections_per_address", settings.connections_per_address);
    add("connections_total", settings.connections_total);
    add("link_share", settings.link_share);
    add("messages_per_connection", settings.messages_per_connection);
    add("recipients_per_transaction", settings.recipients_per_transaction);
    add_route_limit(out, view, l, "messages_per_second", &RouteSettings::messages_per_second);
    add_route_limit(out, view, l, "messages_per_hour", &RouteSettings::messages_per_hour);
    add_route_limit(out, view, l, "connections_per_second", &RouteSettings::connections_per_second);
    return out;
}

} // namespace decide::queue::inspection
