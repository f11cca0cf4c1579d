// Keeps files that were quarantined (bad/, quarantine/, quarantine/incomplete/), removed by an operator (removed/), or
// kept because they failed for a recipient (failed/) within their limits of age and size: checks at start, every ten
// minutes, and soon after a file was added; deletes some at a time. Knows directories; must not know queues.
#pragma once
#include "daemons/common/config/sections/system/history.h"
#include "daemons/common/config/sections/system/spool.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/timer.h"
#include "libspool/disk/commit_pool.h"
#include "libspool/disk/real_disk.h"
#include "libspool/disk/retention.h"
#include <array>
#include <functional>
#include <string_view>

namespace queue_manager {

class QuarantineCleaner {
public:
    struct Place {
        const char* directory;
        spool::RetentionLimits limits;
        spool::RetentionResult kept = {}; // as of the last check; removed: since the start
    };

    // `report_problem`: for status, that a file cannot be removed; "" clears it.
    QuarantineCleaner(common::Loop& loop, common::Log& log, spool::RealDisk& disk, spool::CommitPool& pool,
                      std::function<void(std::string)> report_problem);
    QuarantineCleaner(const QuarantineCleaner&) = delete;

    void limit(const config::Spool& spool, const config::History& history); // ages and sizes
    // A file was added, or may have been: checks soon.
    void soon();
    const std::array<Place, 5>& places() const { return places_; } // in the order of SetAsideDirectory

private:
    using Kept = std::array<spool::Result<spool::RetentionResult>, 5>;
    void look();
    void looked(Kept kept, smtp::Duration took);

    common::Log& log_;
    spool::RealDisk& disk_;
    spool::CommitPool& pool_;
    std::function<void(std::string)> report_problem_;
    std::array<Place, 5> places_;
    common::Timer timer_;
    bool looking_ = false, again_ = false;
    smtp::Monotonic not_before_{}; // checking many files takes its time
};

} // namespace queue_manager
