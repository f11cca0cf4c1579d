// Which messages a request is about: ids, or filter words. A walk goes through them a batch at a time: what
// the queue itself can rule out is left out, the files of the others are read on a thread. Knows the engine's
// listings and the messages' files; must not know what is done with the messages.
#pragma once
#include "daemons/decide/queue/engine.h"
#include "daemons/decide/queue/filter.h"
#include "daemons/queue-manager/control/control_json.h"
#include "daemons/queue-manager/control/pauses_in_force.h"
#include "daemons/queue-manager/requests/replies.h"
#include "libspool/disk/commit_pool.h"
#include "libspool/message/message_state.h"
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <utility>
#include <vector>

namespace queue_manager {

// One message of a selection; without a state if its file was not asked for.
struct SelectedMessage {
    decide::queue::MessageInfo info;
    std::optional<spool::MessageState> state;
    bool read = false;       // the file was asked for
    HeaderFacts header = {}; // where it was asked for, too
    bool matches = false;
};

// A walk over the messages of a selection.
struct MessageWalk {
    bool named = false; // only these messages:
    std::vector<spool::QueueId> ids;
    std::size_t at = 0;
    std::size_t batch = 128; // messages read at a time
    decide::queue::Filter filter;
    decide::queue::Order order = decide::queue::Order::oldest;
    std::vector<decide::queue::Rank> ranks;    // the next of all messages, in that order; looked through up to
    std::size_t looked = 0;                    // … this one
    std::optional<decide::queue::Rank> behind; // the last of them, or of what was listed before
    bool read_files = false, read_headers = false, over = false;
    // What it may still cost: 1 for a message that is visited, 10 for one that is read. Nothing is left: it is over,
    // and others could follow this message.
    std::int64_t effort_left = std::numeric_limits<std::int64_t>::max();
    std::optional<spool::QueueId> ended_after;
    // Calls step() again when it is through with these; none left and over: the end.
    std::function<void(const std::shared_ptr<MessageWalk>&, std::vector<SelectedMessage>)> take;
};

class MessageSelection {
public:
    struct Dependencies { // all outlive it
        const decide::queue::Engine& engine;
        spool::CommitPool& pool;
        const PausesInForce& pauses;
        std::function<bool()> loading; // the spool is still being read
    };
    MessageSelection(Dependencies dependencies, Replies replies) : deps_(std::move(dependencies)), replies_(replies) {}
    MessageSelection(const MessageSelection&) = delete;

    enum class Filter : std::uint8_t { required, optional }; // optional: none means all messages
    // The selection that a request names, or null: refused.
    std::shared_ptr<MessageWalk> select(const Request& request, const nlohmann::json& body, Filter filter) const;
    // The next batch goes to walk->take().
    void step(const std::shared_ptr<MessageWalk>& walk) const;

private:
    std::shared_ptr<MessageWalk> select_ids(const Request& request, const std::vector<std::string>& words) const;
    std::vector<SelectedMessage> next_named(MessageWalk& walk) const;
    std::vector<SelectedMessage> next_filtered(MessageWalk& walk) const;
    void read(SelectedMessage& each, bool headers) const;
    void look_at(SelectedMessage& each, const MessageWalk& walk, smtp::WallTime now) const;

    Dependencies deps_;
    Replies replies_;
};

} // namespace queue_manager
