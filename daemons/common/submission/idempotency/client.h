// Where a writer (smtpd, pickup) claims idempotency keys: asks the ledger off the loop, all that waits in one
// transaction, and gives a key back by itself if its message comes to nothing. Opens the store when the first
// key comes. Must not know where messages come from.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/submission/idempotency/store.h"
#include "daemons/common/logging/log.h"
#include "libsmtp/protocol/reply.h"
#include "libspool/disk/commit_pool.h"
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace common::idempotency {

// A key that was reserved for a message. Gone without its message being durable, it is free again.
class Hold {
public:
    ~Hold();
    Hold(const Hold&) = delete;

private:
    friend class Desk;
    Hold(std::weak_ptr<class Desk*> desk, Wish wish) : desk_(std::move(desk)), wish_(std::move(wish)) {}
    std::weak_ptr<Desk*> desk_; // none: settled
    Wish wish_;
};

// What a submitter who has sent a key is told. hold: go on with the message, and settle it when it is
// durable. Else there is none: `reply` is the answer, 250 of a duplicate.
struct Decision {
    std::unique_ptr<Hold> hold;
    smtp::Reply reply;
    std::optional<spool::QueueId> duplicate_of;
};

class Desk {
public:
    using Decided = std::move_only_function<void(Decision)>;

    // `pool`: where it may wait for the disk; its drain() brings the answers. All outlive it.
    Desk(Log& log, spool::CommitPool& pool, const config::Config& config, std::uint8_t slot);
    ~Desk();
    Desk(const Desk&) = delete;

    void reconfigure(const config::Config& config) { life_ = config.idempotency.life; }

    // Of an envelope with a key and its digest, for the message of that id. `decided` is called once, later.
    void claim(const spool::Envelope& envelope, spool::QueueId id, Decided decided);
    // The message is durable, and so is its key with it: whatever becomes of this, the queue-manager sees to
    // it. `done` is called once, later: from then on everybody knows.
    void settle(std::unique_ptr<Hold> hold, std::function<void()> done);

private:
    friend class Hold;
    struct Waiting {
        Wish wish;
        std::move_only_function<void(const Answer&)> answered;
    };
    struct Back; // what the jobs use
    void add(Wish wish, std::move_only_function<void(const Answer&)> answered);
    void send();
    void release(const Wish& wish);
    void answered(std::vector<Waiting> asked, const std::vector<Answer>& answers);
    Decision decide(Wish wish, const Answer& answer);
    void note_health(const Answer& answer);

    Log& log_;
    spool::CommitPool& pool_;
    smtp::Duration life_;
    std::shared_ptr<Back> back_;
    std::vector<Waiting> waiting_;
    std::vector<Wish> unreleased_; // the store could not be written: with the next ones once more
    bool busy_ = false;            // a job is under way
    bool ill_ = false;             // the log was told
    std::shared_ptr<Desk*> alive_; // for what may outlive it
};

} // namespace common::idempotency
