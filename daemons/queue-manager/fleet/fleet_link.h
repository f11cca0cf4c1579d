// The conversation with the fleet process (proto/fleet.h): what the other nodes learn about this one, and the changes
// of the suppression list in both directions. Knows the channel and the list's keeper; must not know the engine, nor
// the store that nodes share.
#pragma once
#include "daemons/common/proto/fleet.h"
#include "daemons/queue-manager/fleet/rate_exchange.h"
#include "daemons/queue-manager/peers/service.h"
#include "daemons/queue-manager/spool/suppressions.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace queue_manager {

class FleetLink {
public:
    using Channel = ipc::Channel<proto::fleet::Message>;
    struct Dependencies { // all outlive it
        common::Loop& loop;
        spool::CommitPool& pool;
        Suppressions& suppressions;
        RateExchange& rates;
        std::function<proto::fleet::Facts()> facts;
        std::function<std::vector<std::string>()> local_domains; // whose postmasters are never suppressed
    };
    explicit FleetLink(Dependencies dependencies);
    FleetLink(const FleetLink&) = delete;
    FleetLink& operator=(const FleetLink&) = delete;

    void attach(std::unique_ptr<Channel> channel);
    // The list has a change for the other nodes.
    void to_share() { service_.ask(proto::fleet::News{}); }
    void ask(const proto::fleet::AskTokens& question) { static_cast<void>(service_.ask(question)); }

private:
    void received(proto::fleet::Message&& message);
    std::string why_not(std::size_t changes) const; // such an order is carried out; "": it is
    void send_own();
    void merge(proto::fleet::Merge&& order);
    void note_shared(proto::fleet::Shared&& order);
    // Calls `read` on a thread, and sends what it returns: not to another process than the one that asked.
    template <class Answer> void answer(std::function<Answer(const common::SuppressionList*)> read);

    Dependencies deps_;
    Service<proto::fleet::Message> service_;
    std::uint64_t connection_ = 0;
};

} // namespace queue_manager
