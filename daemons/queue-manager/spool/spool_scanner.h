// Finds messages in the spool for the queue-manager: all of it at start, beginning with a given list; one writer's
// directory when that writer connects or disconnects. Reads on the pool's threads, several directories side by side, a
// batch of files at a time, so that delivery starts during the scan. Knows how to scan; must not know what a queue is.
#pragma once
#include "libspool/disk/commit_pool.h"
#include "libspool/store/recovery.h"
#include "libspool/store/snapshot.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace queue_manager {

class SpoolScanner {
public:
    struct Callbacks {
        std::function<void(spool::Found&&)> found;
        std::function<void(const spool::QuarantinedFile&)> put_aside;
        std::function<void(const spool::Error&)> unreadable;
        std::function<void()> all_loaded; // the scan of everything has ended
        // That message had been finished when the power failed: its file is removed again.
        std::function<void(spool::QueueId)> finished_before = {};
        std::function<void()> unread = {}; // some could not be read, but may be later: load_unread()
    };

    SpoolScanner(spool::CommitPool& pool, Callbacks callbacks) : pool_(pool), callbacks_(std::move(callbacks)) {}

    // `first` only gives the order of reading, never what exists: those of them that are found intact, and that are not
    // being delivered, come before everything else and only once; the rest is found in the directories.
    // `finished`: messages that are removed if they are found (RecoveryScan).
    void load_everything(std::vector<spool::SnapshotMessage> first = {},
                         std::shared_ptr<const spool::FinishedIndex> finished = {});
    void load_writer(std::uint8_t slot);
    // Reads again what could not be read so far.
    void load_unread();
    bool has_unread() const { return !unread_.empty(); }
    // The scan of everything has not ended: an id that is not known yet may still turn up.
    bool loading() const { return loading_; }

    // A message is finished and its file about to be removed: neither a scan that has read it already nor one that
    // begins before its removal may bring it back.
    void finished(spool::QueueId id) { finished_.insert(id); }
    bool is_finished(spool::QueueId id) const { return finished_.contains(id); }
    // Its file has been removed.
    void gone(spool::QueueId id) {
        if (scans_ > 0)
            gone_.push_back(id);
        else
            finished_.erase(id);
    }

    // A writer reports its message. True: a scan was quicker, so it is known, or even delivered and gone.
    bool found_already(spool::QueueId id) { return unannounced_.erase(id) > 0; }
    // This writer will report nothing more; another may replace it.
    void writer_left(std::uint8_t slot) {
        std::erase_if(unannounced_, [&](spool::QueueId id) { return id.slot() == slot; });
    }

    // Calls back if no agent holds the file's lock, wherever the file is now; else not at all.
    void when_unlocked(spool::QueueId id, spool::FileHint hint, std::function<void()> free);

private:
    struct Scan;
    struct Part;
    void start(std::shared_ptr<Scan> scan);
    void advance(const std::shared_ptr<Scan>& scan);
    void look_for_some(std::shared_ptr<Scan> scan);
    void step(std::shared_ptr<Part> part);
    void take(const std::shared_ptr<Part>& part, spool::ScanBatch batch);
    void found(spool::Found&& found);
    void part_ended(const std::shared_ptr<Scan>& scan);

    spool::CommitPool& pool_;
    Callbacks callbacks_;
    bool loading_ = false;
    int scans_ = 0;
    std::set<std::string> unread_;                                // directories
    std::shared_ptr<const spool::FinishedIndex> finished_before_; // until everything has been read
    std::unordered_set<spool::QueueId> finished_;                 // until gone, and while a scan runs
    std::vector<spool::QueueId> gone_;                            // during a scan
    std::unordered_set<spool::QueueId> unannounced_;              // found, and their writers live
};

} // namespace queue_manager
