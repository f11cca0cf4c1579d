// How the queue-manager stands as a whole, as `status` shows it beside what the engine counts. Values.
#pragma once
#include "daemons/queue-manager/spool/quarantine_cleaner.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace queue_manager {

struct QueueStatus {
    bool loading = false, stopping = false;
    std::string not_accepting, not_delivering;              // why not; "" if it is
    double in = 0, out = 0;                                 // messages a second
    std::vector<std::uint32_t> in_by_minute, out_by_minute; // of the last hour, the oldest first
    std::vector<std::pair<std::string, bool>> services;
    std::vector<std::string> problems;
    std::vector<QuarantineCleaner::Place> put_aside;
};

} // namespace queue_manager
