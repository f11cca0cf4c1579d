#include "daemons/common/config/transport_names.h"
#include "daemons/decide/routing/route_name.h"

namespace config {

decide::TransportNames transport_names(const std::vector<MailCommand>& commands,
                                       const std::vector<decide::RouteRule>& routes) {
    decide::TransportNames out;
    for (const auto& command : commands) out.commands.push_back(command.name);
    for (const auto& rule : routes)
        if (decide::is_route_name(rule.pattern)) out.routes.push_back(rule.pattern);
    return out;
}

} // namespace config
