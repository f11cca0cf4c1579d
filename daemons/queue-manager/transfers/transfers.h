// Messages that are being moved to other nodes. Each has a record in its file that says so, synced, before it is sent;
// it is removed when the node has answered that it has the message, and the journal has that. Without an answer it is
// in doubt: nothing here delivers it, and the node is asked again, before all others, until it answers. Knows messages
// by id, and the conversation with the transfer process; must not know why they are moved.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/proto/transfer.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include "daemons/queue-manager/events/message_events.h"
#include "daemons/queue-manager/peers/service.h"
#include "daemons/queue-manager/spool/message_files.h"
#include "daemons/queue-manager/spool/message_loader.h"
#include "daemons/queue-manager/spool/problem_list.h"
#include "libspool/format/property.h"
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace queue_manager {

class Transfers {
public:
    using Channel = ipc::Channel<proto::transfer::Message>;
    struct Dependencies { // all outlive it
        common::Loop& loop;
        common::Log& log;
        EngineDriver& driver;
        MessageFiles& files;
        MessageLoader& loader;
        MessageEvents& events;
        ProblemList& problems;
    };
    static constexpr std::size_t most_asked = 64;           // without an answer, at a time
    static constexpr unsigned most_attempts = 5;            // of what a node never had, before it stays here
    static constexpr std::chrono::hours asked_for{14 * 24}; // less than the time that nodes remember transfers

    explicit Transfers(const Dependencies& dependencies);
    Transfers(const Transfers&) = delete;

    void attach(std::unique_ptr<Channel> channel) { service_.attach(std::move(channel)); }

    // Its file says so, and the engine holds it; if something of it is in flight nevertheless, it stays here.
    void begin(spool::QueueId id, const spool::Transferring& how);
    // Its file said so at the start: what was sent before is not known.
    void found(spool::QueueId id, const spool::Transferring& how);
    bool moves(spool::QueueId id) const { return entries_.contains(id); }
    // What an operator must know of it; "": it is not being moved.
    std::string text_of(spool::QueueId id) const;
    // It stays here. `doubt`: although the other node may have it, so that it may be delivered twice. `done` is called
    // once: "", or why not.
    enum class Doubt : std::uint8_t { respected, ignored };
    void cancel(spool::QueueId id, Doubt doubt, std::function<void(std::string)> done);

    struct Ended {
        spool::QueueId id;
        std::string node;
        bool moved = false;
        std::string why; // not moved
    };
    // Called for each that has ended.
    void on_ended(std::function<void(const Ended&)> ended) { ended_ = std::move(ended); }
    std::size_t under_way() const { return entries_.size(); }
    std::size_t in_doubt() const;

private:
    struct Entry {
        spool::Transferring how;
        bool in_doubt = false, asked = false, ending = false;
        unsigned attempts = 0;
        std::string error; // of the last attempt
    };
    void send_some();
    void connection_lost();
    void answered(const proto::transfer::Sent& sent);
    void retry(spool::QueueId id, Entry& entry);
    void taken(spool::QueueId id, spool::QueueId its_id);
    void moved(spool::QueueId id, spool::QueueId its_id, const spool::journal::MessageFacts& about);
    void give_back(spool::QueueId id, std::string why, std::function<void(std::string)> done);
    void given_back(spool::QueueId id, const std::string& why, bool held);
    void end(const Ended& how);
    void report();

    Dependencies deps_;
    Service<proto::transfer::Message> service_;
    std::map<spool::QueueId, Entry> entries_;
    std::deque<spool::QueueId> doubtful_, ready_;            // to be asked about, in this order
    std::multimap<smtp::Monotonic, spool::QueueId> waiting_; // to be asked about again
    std::size_t asked_ = 0;
    common::Timer retry_;
    std::function<void(const Ended&)> ended_;
};

} // namespace queue_manager
