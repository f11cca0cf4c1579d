// The names that tables of next hops may use: of [command.<name>], and of [route."<name>"] without a dot. Knows these
// sections only.
#pragma once
#include "daemons/common/config/sections/recipients/mail_command.h"
#include "daemons/decide/routing/routing.h"
#include "daemons/decide/routing/transport_entry.h"
#include <vector>

namespace config {

decide::TransportNames transport_names(const std::vector<MailCommand>& commands,
                                       const std::vector<decide::RouteRule>& routes);

} // namespace config
