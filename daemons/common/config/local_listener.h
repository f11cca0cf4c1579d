// Whether a next hop is this system itself: mail sent there would loop. Based on the
// configuration alone: numeric addresses, our own name and "localhost"; the router knows the
// addresses of interfaces. What a name resolves to is checked when a connection is made.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/config/sections/server/listener.h"
#include "daemons/decide/routing/routing.h"
#include <vector>

namespace config {

// The listener that a host named in brackets is; null: none of ours.
const Listener* local_listener(const Config& config, const decide::NextHop& hop);
// The listener that answers at an address of this host; null: none of these.
const Listener* local_listener(const std::vector<Listener>& listeners, const common::Endpoint& at);

} // namespace config
