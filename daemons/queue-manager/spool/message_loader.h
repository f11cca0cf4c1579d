// Reads messages' files for the loop, on the pool's threads. Of each message one reading at a time: who asks meanwhile
// shares the next one, so that what becomes of thousands of its recipients does not cost as many readings. Knows files;
// not what they are read for.
#pragma once
#include "libspool/disk/commit_pool.h"
#include "libspool/format/layout.h"
#include "libspool/format/queue_id.h"
#include "libspool/message/message_state.h"
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace queue_manager {

class MessageLoader {
public:
    using Then = std::move_only_function<void(const spool::MessageState& state, std::uint64_t size)>;
    struct Failure {
        enum class How : std::uint8_t {
            gone,    // there is no such file, in no place
            damaged, // there is, and what is in it is not a message
            failed,  // it could not be opened or read now: input/output error, no descriptors left …
        };
        How how = How::failed;
        std::string why;
    };
    using Failed = std::move_only_function<void(const Failure&)>;
    // Told of a file that is there and cannot be read, beside who asked; with "" when one can be read again.
    using Unreadable = std::function<void(spool::QueueId id, const std::string& why)>;
    // `soon`: begin() is wanted at the end of this turn of the loop.
    MessageLoader(spool::CommitPool& pool, std::function<void()> soon, Unreadable unreadable)
        : pool_(pool), soon_(std::move(soon)), unreadable_(std::move(unreadable)) {}

    // Calls back with what the file says at some moment from now on, in the order of asking; or, if it says nothing,
    // `failed`: one of them, once. Without a `failed` nothing is called then: only for what may be left undone.
    void read(spool::QueueId id, spool::Location hint, Then then, Failed failed = {});
    // Calls `then` when nobody reads that message any more; at once if nobody does. Also if its file has gone.
    void when_read(spool::QueueId id, std::move_only_function<void()> then);
    // Hands what was asked for since the last call to the threads.
    void begin();

private:
    struct Asked {
        Then then;
        Failed failed;
    };
    struct Reading {
        std::vector<Asked> served, next; // by the one under way; by the one after it
        std::vector<std::move_only_function<void()>> after;
    };
    void start(spool::QueueId id, spool::Location hint);

    spool::CommitPool& pool_;
    std::function<void()> soon_;
    Unreadable unreadable_;
    bool unreadable_reported_ = false;                     // of one that cannot be read
    std::unordered_map<spool::QueueId, Reading> readings_; // under way, or about to be
    std::vector<std::pair<spool::QueueId, spool::Location>> fresh_;
};

} // namespace queue_manager
