// The journal of what became of every message: [history]. Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include <string>

namespace config {

struct History {
    bool enabled = true;
    std::string directory;                          // "": history/ in the spool
    Duration sync = std::chrono::milliseconds(250); // how long a line may wait for stable storage
};

} // namespace config
