// Keeps the store of the fleet in step with this node's own store of idempotency keys, which the queue-manager reads
// (proto/key_records.h): finds out what became of pledges that no writer has confirmed or released, and offers all keys
// of accepted messages when the store was away, or has lost them. Knows the store; must not know messages.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/proto/key_records.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/fleet/keys/key_entry.h"
#include "daemons/fleet/keys/store_calls.h"
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fleet {

class KeyKeeper {
public:
    static constexpr smtp::Duration look_interval = std::chrono::seconds(2);
    // All keys are offered once in a while, too, because a loss may go unnoticed; sooner if one is known to be missing.
    static constexpr smtp::Duration offer_every = std::chrono::hours(1);
    static constexpr smtp::Duration offer_soon = std::chrono::minutes(5);
    // After a failure; doubled each time.
    static constexpr smtp::Duration first_pause = std::chrono::seconds(1), longest_pause = std::chrono::seconds(30);
    static constexpr std::size_t most_seen = 100'000; // pledges of this node

    struct Dependencies { // all outlive it
        common::Loop& loop;
        common::Log& log;
        StoreCalls store;
        // To the queue-manager. False: it is not connected, or the message was too long.
        std::function<bool(const proto::key_records::Message&)> send;
    };
    explicit KeyKeeper(Dependencies dependencies);
    KeyKeeper(const KeyKeeper&) = delete;
    KeyKeeper& operator=(const KeyKeeper&) = delete;

    // Whether the store can be called now. `node`: our name.
    void use(bool present, const std::string& node);
    void set_origin(const std::string& origin) { origin_ = origin; }
    // The queue-manager has just connected, or gone.
    void connected();
    void disconnected();
    void received(const proto::key_records::Message& message);
    // The store may be a new one: all keys are offered.
    void offer();
    // The store lacks a key of this node, perhaps: it is offered with all others, but not at once.
    void not_confirmed();

private:
    // All keys, in parts. Goes on where it was after failures, unless the store has been emptied meanwhile.
    struct Pass {
        std::string word; // only its own
        std::string after = {};
        bool begun = false; // with this connection to the store, and to the queue-manager
        std::uint64_t restored = 0, left_out = 0;
    };
    struct Pledge {
        std::string key; // of the store
        KeyEntry entry;
    };
    void restart();
    void look();
    void looked(const redis::Reply& reply);
    void found(const proto::key_records::Attempts& answer);
    void settle(const Pledge& pledge, const proto::key_records::Found& found);
    void plan();
    void go_on_offering();
    // To the store, for the pass; `then`, unless it fails.
    void call(const redis::Script& script, const redis::Command& keys, const redis::Command& arguments,
              std::function<bool(const redis::Reply&)> then);
    void begun(bool same_store);
    void offered(const proto::key_records::Accepted& answer);
    void end_pass();
    void offer_failed(const std::string& why);

    Dependencies deps_;
    bool present_ = false;
    std::string node_, origin_;
    bool peer_ = false;                                              // the queue-manager is connected
    std::uint64_t round_ = 0;                                        // what belongs to an earlier one is over
    std::uint64_t number_ = 0, asked_attempts_ = 0, asked_keys_ = 0; // of questions: the last one; those that count
    // Pledges: the cursor, those seen in this pass through the table and in the one before, those asked about.
    std::string cursor_ = "0";
    std::map<std::string, std::string> seen_, former_; // tails, by key of the store
    std::vector<Pledge> asked_;
    // Keys that are offered.
    std::optional<Pass> pass_;
    bool wanted_ = false;                // another pass, at once
    bool soon_ = false;                  // or in a while
    bool waits_ = false;                 // an answer is missing
    std::uint64_t failures_ = 0;         // in a row
    std::optional<smtp::Monotonic> end_; // of the last pass
    common::Timer look_timer_, offer_timer_;
};

} // namespace fleet
