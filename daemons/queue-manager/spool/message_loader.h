// Reads messages' files for the loop, on the pool's threads. Each message has one reading at a time: callers that ask
// meanwhile share the next one, so that events for thousands of its recipients do not cost as many readings. Knows
// files; not what they are read for.
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
            gone,    // no such file, in any place
            damaged, // the file exists, and its content is not a message
            failed,  // it could not be opened or read now: input/output error, no descriptors left …
        };
        How how = How::failed;
        std::string why;
    };
    using Failed = std::move_only_function<void(const Failure&)>;
    // Reports an existing file that cannot be read, in addition to the callers' `failed`; "" when one can be read
    // again.
    using Unreadable = std::function<void(spool::QueueId id, const std::string& why)>;
    // `soon`: requests a call of begin() at the end of this turn of the loop.
    // `where`: where to look for a message first, given its place; may be empty.
    using Where = std::function<spool::FileHint(spool::QueueId, spool::Location)>;
    MessageLoader(spool::CommitPool& pool, std::function<void()> soon, Unreadable unreadable, Where where = {})
        : pool_(pool), soon_(std::move(soon)), unreadable_(std::move(unreadable)), where_(std::move(where)) {}

    // Calls back with the file's content at some moment from now on, in the order of the requests; or, if it cannot be
    // read, `failed`: one of them, once. Without a `failed` nothing is called then: only for work that may be left
    // undone.
    void read(spool::QueueId id, spool::Location hint, Then then, Failed failed = {});
    // Calls `then` when the current readings of that message are done; at once if there are none. Also if its file has
    // gone.
    void when_read(spool::QueueId id, std::move_only_function<void()> then);
    // Is it being read, or about to be?
    bool reading(spool::QueueId id) const { return readings_.contains(id); }
    // Passes the requests since the last call to the threads.
    void begin();

private:
    struct Asked {
        Then then;
        Failed failed;
    };
    struct Reading {
        std::vector<Asked> served, next; // by the current reading; by the next one
        std::vector<std::move_only_function<void()>> after;
    };
    void start(spool::QueueId id, spool::Location hint);

    spool::CommitPool& pool_;
    std::function<void()> soon_;
    Unreadable unreadable_;
    Where where_;
    bool unreadable_reported_ = false;                     // of a file that cannot be read
    std::unordered_map<spool::QueueId, Reading> readings_; // under way, or about to be
    std::vector<std::pair<spool::QueueId, spool::Location>> fresh_;
};

} // namespace queue_manager
