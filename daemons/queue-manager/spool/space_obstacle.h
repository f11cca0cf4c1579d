// Whether the spool's disk has the room that new mail needs.
#pragma once
#include "daemons/common/config/sections/system/spool.h"
#include "libspool/disk/real_disk.h"
#include <string>

namespace queue_manager {

// Why it takes no new mail: read-only, less free than spool.minimum_free …; "" it does.
std::string space_obstacle(spool::RealDisk& disk, const config::Spool& limits);

} // namespace queue_manager
