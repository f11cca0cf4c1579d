// SMTP transports of master.cf that have settings of their own, and are named by transport tables: "slow unix … smtp".
// Each becomes a [route] of that name, which our tables name in the same way.
#pragma once
#include "daemons/import-postfix/postfix/files.h"
#include <string>
#include <vector>

namespace postrider {

class Import;

// Does transport_maps name it, or sender_dependent_default_transport_maps although it has more than source addresses?
bool becomes_route(Import& import, const postfix::Service& service);
// The names of all that do, in lower case.
std::vector<std::string> imported_routes(Import& import);
// "slow:[relay.example]": the SMTP or LMTP service of master.cf of that name; none: it is Postfix's own, or another
// program.
const postfix::Service* own_smtp_transport(const Import& import, std::string_view transport);
// Writes the settings of such a service into the section of a [route] for a domain, or of all ("*").
void import_settings_of_transport(Import& import, const postfix::Service& service, std::string_view pattern);
// Where "lmtp:unix:private/x", "slow:[relay.example]" send mail, as we write it; "": without a next hop, or no
// counterpart. A list of next hops is none, either.
std::string next_hop_of_transport(Import& import, std::string_view transport);
// The same of a list, "slow:[a.example], [b.example]"; empty: one of them has no counterpart.
std::vector<std::string> next_hops_of_transport(Import& import, std::string_view transport);
// Writes the section of a service that becomes a route, and its result.
void import_route_of_transport(Import& import, const postfix::Service& service);

} // namespace postrider
