// Opens messages for deliveries on several threads. Those of one message share what its file says of its recipients;
// what a delivery needs of its own it takes while it opens, for the next one may bring that up to date.
#pragma once
#include "daemons/common/delivery/message_cache.h"
#include <mutex>
#include <utility>

namespace local {

class SharedMessages {
public:
    // `disk` must outlive it.
    explicit SharedMessages(spool::Disk& disk) : messages_(disk) {}

    // `look(state)` is called if it could be opened. Of the reader only the content may be used.
    template <class Look>
    spool::ReadResult<spool::MessageReader> open(spool::QueueId id, spool::FileHint hint, Look&& look) {
        const std::lock_guard lock(mutex_);
        auto reader = messages_.open(id, hint);
        if (reader) std::forward<Look>(look)(reader->state());
        return reader;
    }
    void forget_last() {
        const std::lock_guard lock(mutex_);
        messages_.forget_last();
    }

private:
    std::mutex mutex_;
    common::MessageCache messages_;
};

} // namespace local
