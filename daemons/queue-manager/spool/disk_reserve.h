// The space set aside for records and reports when the disk is full: released piece by piece while something could not
// be written, and taken back when there is room again. Knows the reserve's file; must not know what is written in its
// place.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/queue-manager/spool/problem_list.h"
#include "libspool/disk/commit_pool.h"
#include "libspool/disk/reserve.h"
#include <cstdint>
#include <optional>

namespace queue_manager {

class DiskReserve {
public:
    // `pool` ends before it: its threads use the reserve. The others outlive it.
    DiskReserve(common::Loop& loop, common::Log& log, spool::CommitPool& pool, ProblemList& problems);
    DiskReserve(const DiskReserve&) = delete;

    void open(spool::Disk& disk, std::uint64_t size);
    // Something could not be written because the disk is full: makes room, and clears the problem "disk" once there is
    // room again.
    void release();

private:
    void restore();

    common::Log& log_;
    spool::CommitPool& pool_;
    ProblemList& problems_;
    std::optional<spool::Reserve> reserve_; // touched by one job at a time only
    bool busy_ = false, short_ = false;
    common::Timer retry_;
};

} // namespace queue_manager
