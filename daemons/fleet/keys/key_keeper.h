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
#include <string>
#include <vector>

namespace fleet {

class KeyKeeper {
public:
    static constexpr smtp::Duration look_interval = std::chrono::seconds(2);
    static constexpr smtp::Duration offer_again = std::chrono::seconds(5);

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
    // The queue-manager has just connected, or gone.
    void connected();
    void disconnected();
    void received(const proto::key_records::Message& message);
    // The store may lack keys of this node: all are offered again, soon.
    void offer();

private:
    struct Pledge {
        std::string name; // of the key
        KeyEntry entry;
    };
    void restart();
    void look();
    void looked(const redis::Reply& reply);
    void found(const proto::key_records::Attempts& answer);
    void settle(const Pledge& pledge, const proto::key_records::Found& found);
    void go_on_offering();
    void offered(const proto::key_records::Accepted& answer);
    void offer_later();

    Dependencies deps_;
    bool present_ = false;
    std::string node_;
    bool peer_ = false;                                              // the queue-manager is connected
    std::uint64_t round_ = 0;                                        // what belongs to an earlier one is over
    std::uint64_t number_ = 0, asked_attempts_ = 0, asked_keys_ = 0; // of questions: the last one; those that count
    // Pledges: the cursor, those seen in this pass through the table and in the one before, those asked about.
    std::string cursor_ = "0";
    std::map<std::string, std::string> seen_, former_; // tails, by name
    std::vector<Pledge> asked_;
    // Keys that are offered.
    bool wanted_ = false, offering_ = false;
    std::string after_;
    std::uint64_t restored_ = 0;
    common::Timer look_timer_, offer_timer_;
};

} // namespace fleet
