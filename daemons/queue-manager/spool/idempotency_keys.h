// The idempotency keys of the messages in the spool: the queue-manager keeps the store, and no message's file is
// removed before its key is permanently stored. What the store has lost (a power failure, a damaged file) is restored
// from the files at start. Knows the store; must not know what a queue is.
#pragma once
#include "daemons/common/config/sections/server/idempotency.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/submission/idempotency/store.h"
#include "libspool/disk/commit_pool.h"
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace queue_manager {

class IdempotencyKeys {
public:
    using ProblemReporter = std::function<void(std::string)>; // for `postrider status`; "" clears it

    // `pool`: where it waits for the disk. All outlive it.
    IdempotencyKeys(common::Loop& loop, common::Log& log, spool::CommitPool& pool, const config::Idempotency& settings,
                    const std::string& spool_directory, ProblemReporter report_problem);
    ~IdempotencyKeys();
    IdempotencyKeys(const IdempotencyKeys&) = delete;

    void reconfigure(const config::Idempotency& settings);
    // Creates the store if there is none, or examines the existing one.
    void begin();
    // That message is in the spool, and durable.
    void seen(spool::QueueId id, const spool::Envelope& envelope);
    // Everything that was in the spool has been seen.
    void all_seen();
    // Calls `then` when the key of that message, if it has one, is in the store, or cannot be stored: mail waits for no
    // store. Mostly at once.
    void when_stored(spool::QueueId id, std::function<void()> then);
    // Calls `read` on a thread, with the store; null: it is not open.
    void look(std::function<void(store::Store*)> read);

private:
    struct Back; // what the jobs use
    struct Waits {
        unsigned keys = 0; // of that message: its own, and that of its transfer
        std::vector<std::function<void()>> then;
    };
    void wait_for(common::idempotency::Claim claim, smtp::WallTime expires);
    void send();
    void sent(std::vector<common::idempotency::AcceptedKey> kept, bool whole, const spool::Result<>& result,
              std::string aside);

    common::Log& log_;
    spool::CommitPool& pool_;
    ProblemReporter report_problem_;
    bool enabled_;
    smtp::Duration life_;
    std::shared_ptr<Back> back_;
    common::Timer retry_;
    std::vector<common::idempotency::AcceptedKey> waiting_; // to be written
    std::unordered_map<spool::QueueId, Waits> then_;        // of those, and of those being stored
    bool begun_ = false, all_seen_ = false, complete_ = false, busy_ = false, ill_ = false;
    bool opened_ = false; // the store, for others to read
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace queue_manager
