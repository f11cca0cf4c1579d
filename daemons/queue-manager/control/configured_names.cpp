#include "daemons/queue-manager/control/configured_names.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/local_listener.h"
#include "daemons/decide/routing/failover_route.h"
#include <algorithm>
#include <fmt/format.h>

namespace queue_manager {

bool is_routed(std::string_view link, const config::Config& config) {
    const auto pool = decide::pool_of_link(link);
    if (!pool.empty() && !config.pool(pool)) return false;
    for (const auto& route : config.routes)
        for (const auto& equals : route.next_hops) {
            const bool named = equals.front().kind == decide::NextHop::Kind::host;
            if (named && decide::configured(equals, route.tls_wrap).link == decide::link_to(link)) return true;
        }
    return false;
}

std::string next_hop_error(std::string_view text, const config::Config& config) {
    if (std::ranges::count(config.routes, text, &decide::RouteRule::pattern) > 0) return "";
    const auto hop = decide::NextHop::parse(text);
    const bool no_domain = hop && hop->kind == decide::NextHop::Kind::mx_of && !hop->name.contains('.');
    if (!hop || hop->kind == decide::NextHop::Kind::recipient || no_domain)
        return fmt::format("\"{}\" is not a valid next hop: expected [host]:port, [address]:port, "
                           "lmtp:/path, a domain for its MX hosts, or the name of a [route]",
                           text);
    if (config::local_listener(config, *hop)) return fmt::format("{} is this system itself: the mail would loop", text);
    return "";
}

std::string agent_user(const config::Config& config) { return config.mta.users ? config.mta.user : std::string(); }

} // namespace queue_manager
