#include "daemons/queue-manager/spool/space_obstacle.h"
#include <fmt/format.h>

namespace queue_manager {

std::string space_obstacle(spool::RealDisk& disk, const config::Spool& limits) {
    const auto space = disk.space();
    if (!space) return space.error().what;
    if (disk.read_only()) return "the spool's file system is read-only";
    if (space->bytes_free < limits.minimum_free)
        return fmt::format("{} bytes are free on the spool's disk, {} are required (spool.minimum_free)",
                           space->bytes_free, limits.minimum_free);
    if (space->files_total > 0 && space->files_free < limits.minimum_free_inodes)
        return fmt::format("{} inodes are free on the spool's disk, {} are required (spool.minimum_free_inodes)",
                           space->files_free, limits.minimum_free_inodes);
    return "";
}

} // namespace queue_manager
