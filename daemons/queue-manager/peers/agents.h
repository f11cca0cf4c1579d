// The delivery agents that are connected: their identity, and the channel to each. Knows the conversation's messages;
// must not know why anything is delivered.
#pragma once
#include "daemons/common/ipc/channel.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/common/ipc/parts.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/proto/delivery.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/decide/queue/events.h"
#include "daemons/queue-manager/conversion/records.h"
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace queue_manager {

class Agents {
public:
    struct Callbacks {
        std::function<void(decide::queue::AgentId, AgentKind)> attached;
        std::function<void(decide::queue::AgentId, decide::queue::AgentExit)> gone;
        std::function<void(decide::queue::AgentId, AgentKind, proto::delivery::Message&&)> said;
    };

    Agents(common::Loop& loop, common::Log& log, Callbacks callbacks)
        : loop_(loop), log_(log), callbacks_(std::move(callbacks)), exit_timer_(loop, [this] { judge_all(); }) {}

    bool empty() const { return agents_.empty(); }
    // One of that kind, in turns; nothing: none is connected.
    std::optional<decide::queue::AgentId> any(AgentKind kind);

    // Master's report on how a process ended. It comes a little before or after the connection's end; an agent that
    // went without such a report within a second was not to blame.
    void process_ended(const std::string& role, std::uint32_t instance, bool crashed);

    void attach(ipc::Peer peer, std::unique_ptr<ipc::Channel<proto::delivery::Message>> channel);

    // Sends nothing to an agent that has gone: its end is reported to the engine, with all that was in flight.
    template <class M> [[nodiscard]] ipc::SendResult send(decide::queue::AgentId agent, const M& message) {
        const auto found = agents_.find(agent);
        return found == agents_.end() ? ipc::SendResult::not_open : found->second.channel->send(message);
    }
    template <ipc::AlwaysFits M> void send(decide::queue::AgentId agent, const M& message) {
        if (auto found = agents_.find(agent); found != agents_.end()) found->second.channel->send(message);
    }

private:
    using Dones = ipc::PartAssembler<proto::delivery::Done, &proto::delivery::Done::replies>;
    struct Attached {
        ipc::Peer peer;
        std::unique_ptr<ipc::Channel<proto::delivery::Message>> channel;
        Dones dones{proto::delivery::largest_done}; // received in part
    };
    void said(decide::queue::AgentId id, AgentKind kind, proto::delivery::Message&& message);
    struct DisconnectedAgent {
        decide::queue::AgentId id;
        ipc::Peer peer;
    };
    void detach(decide::queue::AgentId id);
    void judge(const ipc::Peer& peer, decide::queue::AgentExit how);
    void judge_all();

    common::Loop& loop_;
    common::Log& log_;
    Callbacks callbacks_;
    std::map<decide::queue::AgentId, Attached> agents_;
    std::vector<DisconnectedAgent> disconnected_; // disconnected, and the reason is not known yet
    std::vector<ipc::Peer> crashed_;              // crashed, and the connection's end is not seen yet
    common::Timer exit_timer_;
    decide::queue::AgentId last_ = 0;
    decide::queue::AgentId last_asked_ = 0; // by any()
};

} // namespace queue_manager
