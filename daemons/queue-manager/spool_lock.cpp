#include "daemons/queue-manager/spool_lock.h"
#include <chrono>
#include <utility>

namespace queue_manager {

namespace {

constexpr smtp::Duration pause = std::chrono::milliseconds(200);

} // namespace

SpoolLock::SpoolLock(common::Loop& loop, common::Log& log, spool::Disk& disk, ProblemList& problems,
                     std::function<void()> taken)
    : log_(log), disk_(disk), problems_(problems), taken_(std::move(taken)), retry_(loop, [this] { take(); }) {}

void SpoolLock::take() {
    auto file = disk_.open("run/queue-manager.lock", spool::Open::upsert);
    auto locked =
        file ? disk_.lock(*file, spool::Lock::exclusive) : spool::Result<spool::Locked>(std::unexpected(file.error()));
    if (locked && *locked == spool::Locked::yes) {
        file_ = std::move(*file);
        problems_.report("lock", "");
        return taken_();
    }
    const std::string why =
        locked ? "another queue-manager still uses this spool; waiting for it to exit" : locked.error().what;
    if (!problems_.contains("lock")) log_.warning("run/queue-manager.lock: {}", why);
    problems_.report("lock", why);
    retry_.start(pause);
}

} // namespace queue_manager
