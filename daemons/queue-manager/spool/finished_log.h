// Keeps index/finished up to date: what was finished in the last quarter of a second is written together, on the pool's
// threads. Knows the file; must not know why a message is finished.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/queue-manager/spool/problem_list.h"
#include "libspool/disk/commit_pool.h"
#include "libspool/store/finished_messages.h"
#include <memory>

namespace queue_manager {

class FinishedLog {
public:
    // How long removals are collected. Short where many come at a time, because they have waited for the journal.
    static constexpr smtp::Duration usual_pause = std::chrono::milliseconds(250),
                                    short_pause = std::chrono::milliseconds(20);
    // All outlive it; `messages` also outlives the pool's threads.
    FinishedLog(common::Loop& loop, common::Log& log, spool::CommitPool& pool, spool::FinishedMessages& messages,
                ProblemList& problems, smtp::Duration pause = usual_pause)
        : log_(log), pool_(pool), messages_(messages), problems_(problems), pause_(pause),
          timer_(loop, [this] { write(); }) {}
    FinishedLog(const FinishedLog&) = delete;

    // What the file names, for the scan of the spool; null: it cannot be used, and this is reported.
    std::shared_ptr<const spool::FinishedIndex> open();
    // A message has been removed.
    void removed() {
        if (!timer_.armed() && !writing_) timer_.start(pause_);
    }
    // For an orderly stop: everything, now.
    void finish();

private:
    void write();
    void written(const spool::Result<>& result);

    common::Log& log_;
    spool::CommitPool& pool_;
    spool::FinishedMessages& messages_;
    ProblemList& problems_;
    const smtp::Duration pause_;
    common::Timer timer_;
    bool writing_ = false;
};

} // namespace queue_manager
