// The conversation with the router: asks it for the engine where domains lead, reports what it answers to the
// engine, and keeps what delivery orders need of the answers. Knows the conversation; must not know messages.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/proto/route.h"
#include "daemons/queue-manager/conversion/link_hosts.h"
#include "daemons/queue-manager/engine_driver/current_config.h"
#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include "daemons/queue-manager/peers/routed_domains.h"
#include "daemons/queue-manager/peers/service.h"
#include "daemons/queue-manager/probe/route_query.h"
#include <memory>
#include <string_view>

namespace queue_manager {

class RouterClient {
public:
    using Channel = ipc::Channel<proto::route::Message>;
    struct Dependencies { // all outlive it
        common::Loop& loop;
        common::Log& log;
        const CurrentConfig& config;
        EngineDriver& driver;
        RouteQuery& route_query; // gets the answers to its questions
    };
    explicit RouterClient(const Dependencies& dependencies);
    RouterClient(const RouterClient&) = delete;

    void attach(std::unique_ptr<Channel> channel) { service_.attach(std::move(channel)); }
    bool present() const { return service_.present(); }
    // A question of RouteQuery.
    [[nodiscard]] ipc::SendResult send(const proto::route::Route& question) { return service_.ask(question); }

    // What the engine wants.
    void ask(const decide::queue::AskRoute& action);
    void report_state(const decide::queue::LinkState& action);
    void forget_link(std::string_view link);
    void forget_domain(std::string_view domain) { domains_.forgotten(domain); }

    // What it has answered.
    const LinkHostsByName& links() const { return links_; }
    const RoutedDomains& domains() const { return domains_; }
    // At start: what was known of links when the queue-manager stopped.
    void restore(LinkHostsByName links) { links_ = std::move(links); }

private:
    void report_presence(decide::queue::Presence presence);
    void answered(const proto::route::Routed& answer);

    Dependencies deps_;
    Service<proto::route::Message> service_;
    LinkHostsByName links_;
    RoutedDomains domains_;
};

} // namespace queue_manager
