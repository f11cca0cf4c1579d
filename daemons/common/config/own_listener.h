// Whether a next hop is this very system: mail sent there would come back for ever. What the configuration alone tells:
// numeric addresses, our own name and "localhost". What a name resolves to, and which addresses interfaces have, the
// router knows.
#pragma once
#include "daemons/common/config/config.h"

namespace config {

// The listener that a host named in brackets is; null: none of ours.
const Listener* own_listener(const Config& config, const decide::NextHop& hop);

} // namespace config
