// Which of a route's next hops serves now: the one it prefers among those that are not down. Pure; who keeps
// the list of links that are down is the router, or a simulation.
#pragma once
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/routing/routing.h"
#include <functional>
#include <string>
#include <vector>

namespace decide {

using IsDown = std::function<bool(const std::string& link)>;

// One of a rule's next hops: hosts in brackets that are equals. It takes no lookup.
Destination configured(const std::vector<NextHop>& equals, bool tls_wrap = false);

// The first of the rule's next hops (hosts in brackets) that is not down; if all are, the one it prefers.
Destination best(const RouteRule& rule, const IsDown& is_down);

// The same destination with hosts to fall back on when none of its own can be reached; where its own could not
// be found out, just those. Unchanged where the domain itself says no, and where this system is one of its
// hosts: what other hosts hand to us must not go round.
Destination with_fallback(Destination destination, const std::vector<NextHop>& fallback);

// Of a relay host the configuration names: that it is not there is our mistake, and mail waits until it is
// fixed.
Destination named_by_rule(Destination destination);

} // namespace decide
