// Reads messages' files for the loop, on the pool's threads. Of each message one reading at a time: who asks meanwhile
// shares the next one, so that what becomes of thousands of its recipients does not cost as many readings. Knows files;
// not what they are read for.
#pragma once
#include "libspool/commit_pool.h"
#include "libspool/layout.h"
#include "libspool/message_state.h"
#include "libspool/queue_id.h"
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace queue_manager {

class Readings {
public:
    using Then = std::move_only_function<void(const spool::MessageState& state, std::uint64_t size)>;
    // Told of a file that is there and cannot be read; who asked is not called then.
    using Unreadable = std::function<void(spool::QueueId id, const std::string& why)>;
    // `soon`: begin() is wanted at the end of this turn of the loop.
    Readings(spool::CommitPool& pool, std::function<void()> soon, Unreadable unreadable)
        : pool_(pool), soon_(std::move(soon)), unreadable_(std::move(unreadable)) {}

    // Calls back with what the file says at some moment from now on, in the order of asking. Nothing is called if it
    // has gone.
    void read(spool::QueueId id, spool::Location hint, Then then);
    // Calls `then` when nobody reads that message any more; at once if nobody does. Also if its file has gone.
    void when_read(spool::QueueId id, std::move_only_function<void()> then);
    // Hands what was asked for since the last call to the threads.
    void begin();

private:
    struct Reading {
        std::vector<Then> served, next; // by the one under way; by the one after it
        std::vector<std::move_only_function<void()>> after;
    };
    void start(spool::QueueId id, spool::Location hint);

    spool::CommitPool& pool_;
    std::function<void()> soon_;
    Unreadable unreadable_;
    std::unordered_map<spool::QueueId, Reading> readings_; // under way, or about to be
    std::vector<std::pair<spool::QueueId, spool::Location>> fresh_;
};

} // namespace queue_manager
