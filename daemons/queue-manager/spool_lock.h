// The lock on the spool, held as long as this process lives: an earlier queue-manager may still be finishing because
// its master died, and two must never work on one spool. Knows the lock's file; nothing else of the spool.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/queue-manager/spool/problem_list.h"
#include "libspool/disk/disk.h"
#include <functional>

namespace queue_manager {

class SpoolLock {
public:
    // All outlive it. `taken` is called once, from take() or later.
    SpoolLock(common::Loop& loop, common::Log& log, spool::Disk& disk, ProblemList& problems,
              std::function<void()> taken);

    // Takes it now, or as soon as it is free.
    void take();
    bool held() const { return static_cast<bool>(file_); }
    // No longer waits for it.
    void stop() { retry_.stop(); }

private:
    common::Log& log_;
    spool::Disk& disk_;
    ProblemList& problems_;
    std::function<void()> taken_;
    spool::File file_;
    common::Timer retry_;
};

} // namespace queue_manager
