// Whether running processes can take over a new configuration. Pure.
#pragma once
#include "daemons/common/config/fwd.h"
#include "libspool/disk/result.h"

namespace master {

// The error says what has changed, and what to do instead of a reload.
spool::Result<> check_reload(const config::Config& old, const config::Config& fresh);

} // namespace master
