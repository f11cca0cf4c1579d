// Opens messages for deliveries. Those of one message, of which there may be thousands,
// share the recipients read from its file: it is folded once, and each of them adds
// what was recorded since. Reused files stay open for the next message in them. For one thread at a time. Knows files;
// not deliveries.
#pragma once
#include "libspool/message/kept_files.h"
#include "libspool/message/message_reader.h"
#include <cstddef>
#include <memory>
#include <unordered_map>

namespace common {

class MessageCache {
public:
    // `most_files`: that stay open; 0: none. `disk` must outlive it.
    MessageCache(spool::Disk& disk, std::size_t most_files = 0)
        : files_(std::make_unique<spool::KeptFiles>(disk, most_files)) {}

    // Locked, as by MessageReader::open(). This must outlive what it opens.
    spool::ReadResult<spool::MessageReader> open(spool::QueueId id, spool::FileHint hint);
    // No delivery is expected soon: drops what is kept for the next one.
    void forget_last() {
        last_.reset();
        files_->clear();
    }

private:
    static constexpr std::size_t many = 100; // recipients: worth keeping for a moment after the last reader

    std::unique_ptr<spool::KeptFiles> files_; // stays where it is for the readers
    // Of messages with several recipients, while one of their readers exists.
    std::unordered_map<spool::QueueId, std::weak_ptr<spool::FoldedLog>> shared_;
    std::size_t tidy_at_ = 64;
    std::shared_ptr<spool::FoldedLog>
        last_; // of the last message with many: its next delivery may come after this one's reader is gone
};

} // namespace common
