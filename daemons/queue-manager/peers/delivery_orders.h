// What the engine orders of the delivery agents: connections, deliveries, their end. Adds to each what the
// router has said of the link and the domain, and which source addresses rest. Knows the agents' channels;
// must not know what became of an order.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/proto/delivery.h"
#include "daemons/decide/outcome/source_backoff.h"
#include "daemons/queue-manager/conversion/content_filter.h"
#include "daemons/queue-manager/conversion/link_hosts.h"
#include "daemons/queue-manager/engine_driver/current_config.h"
#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include "daemons/queue-manager/peers/agents.h"
#include "daemons/queue-manager/peers/router_client.h"
#include "daemons/queue-manager/spool/message_files.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace queue_manager {

class DeliveryOrders {
public:
    struct Dependencies { // all outlive it
        common::Log& log;
        const CurrentConfig& config;
        EngineDriver& driver;
        Agents& agents;
        const MessageFiles& files;
        const RouterClient& router;
        const decide::SourceBackoff& resting;
        const ContentFilters& filters;
    };
    explicit DeliveryOrders(const Dependencies& dependencies) : deps_(dependencies) {}
    DeliveryOrders(const DeliveryOrders&) = delete;

    void open(const decide::queue::OpenConnection& action, smtp::Now now);
    void deliver(const decide::queue::Deliver& action, std::span<const std::uint32_t> numbers);
    void close(const decide::queue::CloseConnection& action);
    void recall(const decide::queue::Recall& action);
    void cancel(const decide::queue::CancelDelivery& action);

    // What a connection of that link, to those hosts, needs to know, but for its number.
    proto::delivery::Connect connect_to(const std::string& link, const LinkHosts& hosts, smtp::Now now) const;

private:
    std::vector<std::string> replies_by(std::string_view rule) const;

    Dependencies deps_;
};

} // namespace queue_manager
