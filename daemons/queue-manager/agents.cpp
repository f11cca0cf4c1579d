#include "daemons/queue-manager/agents.h"

namespace queue_manager {

void Agents::attach(ipc::Peer peer, std::unique_ptr<ipc::Channel<proto::delivery::Message>> channel) {
    const auto id = ++last_;
    const auto kind = peer.role == proto::Role::local ? Agent::local : Agent::smtp_client;
    channel->set_callbacks({
        [this, id, kind](proto::delivery::Message&& message) { callbacks_.said(id, kind, std::move(message)); },
        [this, id](const std::string&) { detach(id); },
    });
    agents_.emplace(id, Attached{peer, std::move(channel)});
    callbacks_.attached(id, kind);
}

void Agents::detach(decide::queue::AgentId id) {
    auto node = agents_.extract(id);
    if (node.empty()) return;
    const auto peer = node.mapped().peer;
    // The callback that is running is the channel's own: it may only go when the turn ends.
    loop_.later([gone = std::shared_ptr<ipc::Channel<proto::delivery::Message>>(
                     std::move(node.mapped().channel))] {});
    callbacks_.gone(id, peer.role, peer.instance);
}

} // namespace queue_manager
