// Messages that are being moved to other nodes. Each has a record in its file that says so, synced, before it is sent;
// it is removed when the node has answered that it has the message, and the journal has that. Without an answer it is
// in doubt: nothing here delivers it, and the node is asked again, before all others of that node, until it answers.
// A node that does not answer has only its own messages waiting. Knows messages by id, and the conversation with the
// transfer process; must not know why they are moved.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
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
#include <optional>
#include <set>
#include <string>
#include <vector>

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
        common::Metrics& metrics;
        std::function<bool(const std::string&)> is_node; // the configuration has a section for it
    };
    // Of a node, without an answer, at a time: at first, doubled by each that it takes.
    static constexpr std::size_t first_asked = 2, most_asked = 32;
    static constexpr std::size_t most_moving = 10'000;      // in all, before messages named by commands are refused
    static constexpr std::size_t most_in_doubt = 16;        // of a node, before a drain leaves it alone
    static constexpr unsigned most_attempts = 5;            // of what a node never had, before it stays here
    static constexpr std::chrono::hours asked_for{14 * 24}; // less than the time that nodes remember transfers

    explicit Transfers(const Dependencies& dependencies);
    Transfers(const Transfers&) = delete;

    void attach(std::unique_ptr<Channel> channel) { service_.attach(std::move(channel)); }

    // Nodes may have been added or removed.
    void configured();

    // Before its file says so: it belongs to the caller from now on, until begin() or free(). False: to another one.
    [[nodiscard]] bool reserve(spool::QueueId id);
    void free(spool::QueueId id) { reserved_.erase(id); }
    bool full() const { return entries_.size() + reserved_.size() >= most_moving; }
    // It was reserved, its file says so, and the engine holds it; if something of it is in flight nevertheless, it
    // stays here.
    void begin(spool::QueueId id, const spool::Transferring& how);
    // Its file said so at the start: what was sent before is not known.
    void found(spool::QueueId id, const spool::Transferring& how);
    bool moves(spool::QueueId id) const { return entries_.contains(id) || reserved_.contains(id); }

    // Its file is being changed by something else: meanwhile it cannot be reserved.
    void change_begins(spool::QueueId id) { ++changing_[id].count; }
    void change_ends(spool::QueueId id);
    bool changes(spool::QueueId id) const { return changing_.contains(id); }
    // Calls `then` when no change is under way any longer; there is one.
    void when_unchanged(spool::QueueId id, std::function<void()> then) {
        changing_[id].then.push_back(std::move(then));
    }

    // What an operator must know of it; "": it is not being moved.
    std::string text_of(spool::QueueId id) const;
    // It stays here. `doubt`: although the other node may have it, so that it may be delivered twice. `done` is called
    // once: "", or why not.
    enum class Doubt : std::uint8_t { respected, ignored };
    void cancel(spool::QueueId id, Doubt doubt, std::function<void(std::string)> done);

    enum class Outcome : std::uint8_t {
        moved,
        refused, // by the node, or an operator canceled it: not to be tried again
        failed,  // the node does not take it now
        kept,    // for a reason of its own; in the order of the metric's results
    };
    struct Ended {
        spool::QueueId id;
        std::string node;
        Outcome outcome = Outcome::kept;
    };
    // Called for each that has ended.
    void on_ended(std::function<void(const Ended&)> ended) { ended_ = std::move(ended); }
    std::size_t under_way() const { return entries_.size(); }
    std::size_t in_doubt() const { return doubts_.size(); }
    bool in_doubt(spool::QueueId id) const { return doubts_.contains(id); }
    // How many messages a node may have waiting that are not in doubt, at most `most`: fewer if it has trouble.
    std::size_t room(const std::string& node, std::size_t most) const;

private:
    struct Return { // it stays here
        std::string why;
        Outcome outcome = Outcome::kept;
        std::function<void(std::string)> done;
        bool written = false;
        unsigned attempts = 0;
    };
    struct Entry {
        spool::Transferring how;
        bool asked = false, ending = false, forgotten = false; // forgotten: not asked about any longer
        unsigned attempts = 0;
        std::string error; // of the last attempt
        std::optional<Return> back;
    };
    struct Peer {                                   // a node
        std::deque<spool::QueueId> doubtful, ready; // to be asked about, in this order
        std::size_t asked = 0, may_ask = first_asked, in_doubt = 0;
        unsigned failures = 0;        // since it took a message
        smtp::Monotonic next_ready{}; // with failures: what it never had is not sent before
    };
    struct Changing {
        unsigned count = 0;
        std::vector<std::function<void()>> then;
    };
    void send_some();
    bool send_some_to(Peer& peer, smtp::Now now);
    void wake_later(smtp::Now now);
    void connection_lost();
    void answered(const proto::transfer::Sent& sent);
    void node_failed(Peer& peer, const std::string& why);
    void set_doubt(spool::QueueId id, const Entry& entry);
    void retry(spool::QueueId id, unsigned attempts);
    void taken(spool::QueueId id, spool::QueueId its_id);
    void moved(spool::QueueId id, spool::QueueId its_id, const spool::journal::MessageFacts& about);
    void give_back(spool::QueueId id, Return back);
    void write_return(spool::QueueId id);
    void read_returned(spool::QueueId id);
    void given_back(spool::QueueId id, bool held);
    void end(spool::QueueId id, Outcome outcome);
    void report(); // at the end of this turn
    void report_now();

    Dependencies deps_;
    Service<proto::transfer::Message> service_;
    std::map<spool::QueueId, Entry> entries_;
    std::set<spool::QueueId> reserved_, doubts_;
    std::map<spool::QueueId, Changing> changing_;
    std::map<std::string, Peer> peers_;
    std::multimap<smtp::Monotonic, spool::QueueId> waiting_; // to be asked about again, or given back
    std::size_t forgotten_ = 0;
    bool reporting_ = false;
    common::Timer retry_;
    std::function<void(const Ended&)> ended_;
};

} // namespace queue_manager
