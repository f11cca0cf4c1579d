#include "daemons/queue-manager/peers/agents.h"
#include <algorithm>

namespace queue_manager {

using decide::queue::AgentExit;

namespace {
constexpr smtp::Duration word_awaited = std::chrono::seconds(1);

bool same(const ipc::Peer& a, const ipc::Peer& b) { return a.role == b.role && a.instance == b.instance; }

AgentKind kind_of(const ipc::Peer& peer) {
    return peer.role == proto::Role::local ? AgentKind::local : AgentKind::smtp;
}
} // namespace

void Agents::attach(ipc::Peer peer, std::unique_ptr<ipc::Channel<proto::delivery::Message>> channel) {
    judge(peer, AgentExit::orderly); // it is back: an earlier crash would have been reported by now
    const auto id = ++last_;
    const auto kind = kind_of(peer);
    channel->set_callbacks({
        [this, id, kind](proto::delivery::Message&& message) { said(id, kind, std::move(message)); },
        [this, id, from = channel.get()](const std::string& reason) {
            if (from->closing() == ipc::Connection::Closing::failure)
                log_.error("connection to a delivery agent ended: {}", reason);
            detach(id);
        },
    });
    agents_.emplace(id, Attached{peer, std::move(channel), Dones{proto::delivery::largest_done}});
    callbacks_.attached(id, kind);
}

// A result in parts is passed on when it is complete. It cannot be too long: recipients of a transaction are limited,
// and so is the text about each.
void Agents::said(decide::queue::AgentId id, AgentKind kind, proto::delivery::Message&& message) {
    auto* done = std::get_if<proto::delivery::Done>(&message);
    if (done == nullptr || (done->part == 0 && !done->more)) return callbacks_.said(id, kind, std::move(message));
    auto& from = agents_.at(id);
    auto whole = from.dones.add(std::move(*done));
    if (whole && !whole->complete) return from.channel->fail("a result for more recipients than the transaction has");
    if (whole) callbacks_.said(id, kind, std::move(whole->message));
}

std::optional<decide::queue::AgentId> Agents::any(AgentKind kind) {
    std::optional<decide::queue::AgentId> first;
    for (const auto& [id, each] : agents_) {
        if (kind_of(each.peer) != kind) continue;
        if (!first) first = id;
        if (id > last_asked_) return last_asked_ = id;
    }
    if (first) last_asked_ = *first;
    return first;
}

void Agents::detach(decide::queue::AgentId id) {
    auto node = agents_.extract(id);
    if (node.empty()) return;
    const auto peer = node.mapped().peer;
    // The running callback is the channel's own: it may be destroyed only when the turn ends.
    loop_.defer([gone = std::shared_ptr<ipc::Channel<proto::delivery::Message>>(std::move(node.mapped().channel))] {});
    if (std::erase_if(crashed_, [&](auto& each) { return same(each, peer); }) > 0)
        return callbacks_.gone(id, AgentExit::crashed);
    disconnected_.push_back({id, peer});
    exit_timer_.start(word_awaited);
}

void Agents::process_ended(const std::string& role, std::uint32_t instance, bool crashed) {
    for (const auto known : {proto::Role::smtp_client, proto::Role::local}) {
        if (role != proto::name_of(known)) continue;
        const ipc::Peer peer{known, instance};
        const bool connected = std::ranges::any_of(agents_, [&](auto& each) { return same(each.second.peer, peer); });
        if (connected && crashed)
            crashed_.push_back(peer); // its connection's end is still to be read
        else
            judge(peer, crashed ? AgentExit::crashed : AgentExit::orderly);
    }
}

void Agents::judge(const ipc::Peer& peer, AgentExit how) {
    auto mine = std::ranges::partition(disconnected_, [&](auto& each) { return !same(each.peer, peer); });
    const std::vector<DisconnectedAgent> judged(mine.begin(), mine.end());
    disconnected_.erase(mine.begin(), mine.end());
    for (const auto& each : judged) callbacks_.gone(each.id, how);
}

void Agents::judge_all() {
    for (const auto& each : std::exchange(disconnected_, {})) callbacks_.gone(each.id, AgentExit::orderly);
}

} // namespace queue_manager
