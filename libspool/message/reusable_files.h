// The files that one writer of messages uses again and again: a message of ordinary size overwrites one of them, which
// costs the disk much less than creating a file and removing it. Lends a free one to each commit; the queue-manager
// gives it back when the message is finished, or keeps it when the message has to wait. Knows which files are free;
// must not know what is in them. For one thread, but a lent file is used by the job that commits to it.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/format/queue_id.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace spool {

struct ReusableFile {
    QueueId name; // of path_of_reused()
    File file;    // empty: it is created by the first commit to it
};

class ReusableFiles {
public:
    // Of each, from its creation on; what is longer gets a file of its own. Large enough for most mail that programs
    // send, and for one read.
    static constexpr std::size_t file_size = 32 * 1024;

    // `most`: at any time, free and in use; 0: every message gets a file of its own.
    explicit ReusableFiles(std::size_t most) : most_(most) {}
    ReusableFiles(const ReusableFiles&) = delete;

    // For a commit of message `id` that takes `bytes` in the file. Null: the message gets a file of its own. New files
    // are made as long as files come back: messages that all have to wait are not worth it.
    std::shared_ptr<ReusableFile> lend(QueueId id, std::uint64_t bytes);
    // The message committed to it is passed to the queue-manager, which decides about it from now on.
    void passed_on(QueueId name);
    // The commit failed, or the queue-manager keeps the file: it is not ours any longer.
    void lost(QueueId name);
    // The message in it is finished: it may be overwritten. Ignored unless it was passed on.
    void returned(QueueId name);

    std::vector<QueueId> passed_on() const; // and not returned or lost
    std::size_t free() const { return free_.size(); }

private:
    static constexpr std::size_t first_files = 64; // created before any has come back

    std::size_t most_;
    std::size_t may_create_ = first_files;
    std::vector<std::shared_ptr<ReusableFile>> free_; // the one used last at the end: it is in the caches
    std::unordered_map<QueueId, std::shared_ptr<ReusableFile>> lent_, passed_on_;
};

} // namespace spool
