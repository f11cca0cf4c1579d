// How daemons are watched, restarted and stopped: [master]. Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include <cstdint>

namespace config {

struct Master {
    Duration heartbeat_interval = 10s;
    Duration heartbeat_timeout = 60s;
    Duration restart_delay = 100ms; // after the first death; doubles
    Duration restart_delay_limit = 1min;
    Duration stop_timeout = 30s;
    std::uint32_t reload_limit = 100; // queued messages that a reload may return or reroute unasked; 0: any number
};

} // namespace config
