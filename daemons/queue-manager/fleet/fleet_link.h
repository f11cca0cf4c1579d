// The conversation with the fleet process (proto/fleet.h): what the other nodes are told of this one. Knows the
// channel; must not know the engine, nor the store.
#pragma once
#include "daemons/common/proto/fleet.h"
#include "daemons/queue-manager/peers/service.h"
#include <functional>
#include <memory>

namespace queue_manager {

class FleetLink {
public:
    using Channel = ipc::Channel<proto::fleet::Message>;
    struct Dependencies {
        common::Loop& loop;
        std::function<proto::fleet::Facts()> facts;
    };
    explicit FleetLink(Dependencies dependencies);
    FleetLink(const FleetLink&) = delete;
    FleetLink& operator=(const FleetLink&) = delete;

    void attach(std::unique_ptr<Channel> channel) { service_.attach(std::move(channel)); }

private:
    void received(const proto::fleet::Message& message);

    Dependencies deps_;
    Service<proto::fleet::Message> service_;
};

} // namespace queue_manager
