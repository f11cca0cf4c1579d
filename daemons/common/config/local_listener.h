// Whether a next hop is this very system: mail sent there would come back for ever. What the configuration alone tells:
// numeric addresses, our own name and "localhost"; which addresses interfaces have, the router knows. What a name resolves
// to shows when a connection is made.
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
