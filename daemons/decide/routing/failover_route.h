// Which of a route's next hops is used now: the preferred one among those that are not down. Pure; the router, or a
// simulation, keeps the list of links that are down.
#pragma once
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/routing/routing.h"
#include <functional>
#include <string>
#include <vector>

namespace decide {

using IsDown = std::function<bool(const std::string& link)>;

// One of a rule's next hops: hosts in brackets that are equals. Needs no lookup.
Destination configured(const std::vector<NextHop>& equals, bool tls_wrap = false);

// Hosts in brackets in order of preference: a next one is used when those before it cannot be reached.
Destination in_order(const std::vector<NextHop>& hops, bool tls_wrap = false);

// The first of the rule's next hops (hosts in brackets) that is not down; if all are, the one it prefers.
Destination best(const RouteRule& rule, const IsDown& is_down);

// The same destination with hosts to fall back on if none of its own can be reached; only the fallback hosts if its own
// could not be determined. Unchanged if the domain itself rejects mail, or if this system is one of its hosts: mail
// that other hosts relay to us must not loop.
Destination with_fallback(Destination destination, const std::vector<NextHop>& fallback);

// For a relay host named in the configuration: if it does not exist, that is our mistake, and mail waits until it is
// fixed.
Destination named_by_rule(Destination destination);

} // namespace decide
