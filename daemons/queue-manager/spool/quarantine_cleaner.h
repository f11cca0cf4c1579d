// Keeps what was put aside (bad/, quarantine/, quarantine/incomplete/) or removed by an operator (removed/) within
// its limits of age and size: looks at start, every ten minutes, and soon after something came. Knows directories;
// must not know queues.
#pragma once
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
        spool::RetentionResult kept = {}; // as of the last look; removed: since the start
    };

    // `report_problem`: for status, that something cannot be removed; "" it can.
    QuarantineCleaner(common::Loop& loop, common::Log& log, spool::RealDisk& disk, spool::CommitPool& pool,
                      std::function<void(std::string)> report_problem);
    QuarantineCleaner(const QuarantineCleaner&) = delete;

    void limit(const config::Spool& spool); // ages and sizes
    // Something was put aside, or may have been: look soon, and again and again.
    void soon();
    const std::array<Place, 4>& places() const { return places_; } // in the order of common::Aside

private:
    using Kept = std::array<spool::Result<spool::RetentionResult>, 4>;
    void look();
    void looked(Kept kept, smtp::Duration took);

    common::Log& log_;
    spool::RealDisk& disk_;
    spool::CommitPool& pool_;
    std::function<void(std::string)> report_problem_;
    std::array<Place, 4> places_;
    common::Timer timer_;
    bool looking_ = false, again_ = false;
    smtp::Monotonic not_before_{}; // a look at many files takes its time
};

} // namespace queue_manager
