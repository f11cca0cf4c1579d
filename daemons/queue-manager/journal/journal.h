// The queue-manager's journal: what happened becomes lines that are written and synced together, a few times a second,
// on the pool's threads; what must not happen before lines are on stable storage waits here. Mail comes first: while
// the journal cannot be written nothing waits for it, and a gap names what it lacks. Knows lines and time; must not
// know what an event means.
#pragma once
#include "daemons/common/config/sections/system/history.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/queue-manager/journal/journal_files.h"
#include "libspool/disk/commit_pool.h"
#include "libspool/journal/pending_lines.h"
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

namespace queue_manager {

class Journal {
public:
    using Task = std::move_only_function<void()>;
    struct Dependencies { // all outlive it; `files` also outlives the pool's threads
        common::Loop& loop;
        common::Log& log;
        common::Metrics& metrics;
        spool::CommitPool& pool;
        JournalFiles& files;
        std::function<void(std::string)> report_failure; // that it cannot be written, and why; "": it can again
        // Too much waits for the journal, so that nothing may be delivered; or no longer.
        std::function<void(bool too_much)> pause_deliveries;
    };
    // Waiting tasks: above, deliveries pause; enough for the lines not to wait any longer.
    static constexpr std::size_t most_waiting = 100'000, worth_a_sync = 256;
    static constexpr std::uint64_t most_lines = 10'000; // that wait for the next sync

    Journal(Dependencies dependencies, const config::History& settings);
    Journal(const Journal&) = delete;

    void begin(); // the spool is ours
    void reconfigure(const config::History& settings) { settings_.sync = settings.sync; }

    // Adds a line; see PendingLines::add().
    template <class Fill> void add(spool::journal::EventType type, Fill&& fill) {
        if (!settings_.enabled) return;
        if (!open_) return not_recorded();
        lines_.add(type, common::Loop::now().wall, fill);
        if (writing_) return;
        if (lines_.count() >= most_lines && !failing_)
            write();
        else if (!timer_.armed())
            timer_.start(failing_ ? retry_pause : settings_.sync);
    }
    bool enabled() const { return settings_.enabled; }
    // More lines wait than are written at once: what is not needed is left out.
    bool congested() const { return lines_.count() >= most_lines; }
    // What the last queue-manager has written of messages: some megabytes at most.
    const spool::journal::Tail& tail() const { return tail_; }
    // Does it have an end of that recipient, in whatever form?
    bool has_end(spool::QueueId id, std::string_view recipient) const {
        return tail_.has_end(id, recipient) || (hash_ && tail_.has_end(id, hash_->of(recipient)));
    }
    std::size_t waiting() const { return waiting_.size(); } // tasks of when_durable()
    // Calls `task` when all lines added so far are on stable storage, or cannot be; mostly not at once.
    void when_durable(Task task);

    // Events up to now are to be erased, by `who`: they end a segment. Calls `done` with the number of its last one, or
    // with 0 if that could not be written.
    void end_segment(std::string who, std::move_only_function<void(std::uint64_t through)> done);

    // For an orderly stop, again and again: writes what there is, without a pause. True: nothing waits any longer.
    bool drain();
    // The last word: writes what is left, here, and marks the orderly stop.
    void finish();

private:
    static constexpr smtp::Duration retry_pause = std::chrono::seconds(5);
    struct Waiting {
        std::uint64_t line; // the last one it waits for
        Task task;
    };
    void open();
    void opened(spool::Result<JournalFiles::Opened> files);
    void not_recorded() {
        ++unrecorded_;
        deps_.metrics.count(common::MetricId::journal_events_lost);
    }
    void write();
    void written(spool::journal::Lines&& batch, const spool::Result<>& result, smtp::Monotonic begun);
    void failed(const std::string& why);
    void recovered();
    void release();
    void write_soon();

    Dependencies deps_;
    config::History settings_;
    spool::journal::PendingLines lines_;
    std::deque<Waiting> waiting_;
    spool::journal::Tail tail_;
    std::optional<history::AddressHash> hash_;
    bool open_ = false, writing_ = false, failing_ = false, deliveries_paused_ = false;
    std::uint64_t unrecorded_ = 0; // events while it was not open
    common::Timer timer_;
};

} // namespace queue_manager
