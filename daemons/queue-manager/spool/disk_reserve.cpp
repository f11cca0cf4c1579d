#include "daemons/queue-manager/spool/disk_reserve.h"
#include <chrono>

namespace queue_manager {

namespace {

constexpr smtp::Duration reserve_pause = std::chrono::minutes(1); // between checks for free space
constexpr std::uint64_t reserve_piece = 1 << 20;                  // released at a time

} // namespace

DiskReserve::DiskReserve(common::Loop& loop, common::Log& log, spool::CommitPool& pool, ProblemList& problems)
    : log_(log), pool_(pool), problems_(problems), retry_(loop, [this] { restore(); }) {}

void DiskReserve::open(spool::Disk& disk, std::uint64_t size) {
    auto reserve = spool::Reserve::open(disk, size);
    if (reserve)
        reserve_.emplace(std::move(*reserve));
    else
        log_.warning("spool reserve: {}: no space is reserved for reports when the disk is full", reserve.error().what);
}

void DiskReserve::release() {
    if (!reserve_ || busy_) return;
    busy_ = true;
    short_ = true;
    pool_.post([this] {
        auto given = reserve_->release(reserve_piece);
        pool_.complete([this, given] {
            busy_ = false;
            if (given && !*given) log_.critical("spool: the reserve for reports and records is used up");
            retry_.start(reserve_pause);
        });
    });
}

void DiskReserve::restore() {
    if (!reserve_ || busy_ || !short_) return;
    busy_ = true;
    pool_.post([this] {
        auto restored = reserve_->restore();
        pool_.complete([this, restored] {
            busy_ = false;
            short_ = !restored;
            if (restored)
                problems_.report("disk", "");
            else
                retry_.start(reserve_pause);
        });
    });
}

} // namespace queue_manager
