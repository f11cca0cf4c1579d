// How messages reach the engine: submitted ones, those found in the spool, those restored by an operator. A file that
// cannot be read now is read again later; a message that an agent of an earlier queue-manager still delivers waits for
// it. Knows files and the engine's events; must not know the submitters.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include "daemons/queue-manager/engine_driver/rate.h"
#include "daemons/queue-manager/events/message_events.h"
#include "daemons/queue-manager/spool/idempotency_keys.h"
#include "daemons/queue-manager/spool/message_files.h"
#include "daemons/queue-manager/spool/message_loader.h"
#include "daemons/queue-manager/spool/problem_list.h"
#include "daemons/queue-manager/spool/spool_scanner.h"
#include "libspool/store/store.h"
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace queue_manager {

class MessageIntake {
public:
    struct Dependencies { // all outlive it
        common::Loop& loop;
        common::Log& log;
        EngineDriver& driver;
        spool::Store& store;
        MessageFiles& files;
        MessageLoader& loader;
        SpoolScanner& scanner;
        IdempotencyKeys& keys;
        MessageEvents& events;
        ProblemList& problems;
        std::function<bool()> keeps_failed; // finished messages that failed for a recipient (failed/)
        std::function<void()> written;      // the store must be flushed at the end of the turn
        std::function<void(spool::QueueId, const spool::Transferring&)> being_moved; // it was found so
        std::function<void(spool::QueueId)> known_now; // the engine knows that message from now on
    };
    explicit MessageIntake(Dependencies dependencies);
    MessageIntake(const MessageIntake&) = delete;

    void accept(spool::QueueId id, spool::Location location, std::uint64_t size, const spool::MessageState& state,
                decide::queue::Origin origin);
    // It was taken over from its writer: if its file cannot be read now, this is retried until it can.
    void read(spool::QueueId id, decide::queue::Origin origin);
    // Queues a removed message for delivery again; `done` is called when the engine knows it.
    void restore_removed(spool::QueueId id, std::string who, spool::Store::Done done);

    // ---- what a scan of the spool finds ----
    void found(spool::Found&& found);
    void set_aside(const spool::QuarantinedFile& aside);
    void unreadable(const spool::Error& error);
    void scan_again_later(); // some directories could not be read
    // It was read again, and is damaged.
    void found_damaged(spool::QueueId id, const std::string& why);

    // An agent of an earlier queue-manager has it in flight.
    bool with_earlier_agent(spool::QueueId id) const { return locked_.contains(id); }
    Rate& rate() { return rate_; } // of messages

private:
    void read_later(spool::QueueId id, decide::queue::Origin origin);
    void wait_for_agent(spool::QueueId id, spool::Location location);
    void scan_again();

    Dependencies deps_;
    Rate rate_;
    std::map<spool::QueueId, spool::Location> locked_;       // an agent of an earlier queue-manager still has it
    std::map<spool::QueueId, decide::queue::Origin> unread_; // taken over, and their files could not be read
    smtp::Duration scan_pause_{};                            // until the next try to read what could not be read
    common::Timer unlock_retry_, unread_retry_, scan_retry_;
};

} // namespace queue_manager
