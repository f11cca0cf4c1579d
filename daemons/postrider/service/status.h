// status, and the page of data that `top` shows as well. Only fetch_status() asks the daemons.
#pragma once
#include "daemons/common/config/sections/system/spool.h"
#include "daemons/common/terminal/arguments.h"
#include "libspool/disk/result.h"
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace postrider {

// What `status` and `top` show.
struct StatusData {
    nlohmann::json master, processes, queue; // queue: null if the queue-manager does not answer
    std::string queue_error;                 // why
};
// `seconds`: how long master may be silent.
spool::Result<StatusData> fetch_status(const config::Spool& spool, int seconds = 30);
// A page of it; lines are cut at `width` unless that is 0.
std::string status_page(const StatusData& data, std::int64_t now, std::size_t width);

int status(const Arguments&);

} // namespace postrider
