// The router: answers the queue-manager's question where a domain's mail goes, by the configured routes and
// the name system. Knows no message.
#pragma once
#include "daemons/common/daemon.h"
#include "daemons/common/dns/resolver.h"
#include "daemons/common/ipc/connector.h"
#include "daemons/common/proto/route.h"
#include "daemons/common/timer.h"
#include "daemons/decide/routing.h"
#include "daemons/router/ourselves.h"
#include "daemons/router/route_lookup.h"
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace router {

class Router final : public common::Daemon {
public:
    static spool::Result<std::unique_ptr<Router>> create(common::Surroundings& surroundings,
                                                         common::Orders orders);
    void reconfigure(common::Orders orders) override;
    void stop(smtp::Duration within, std::function<void()> done) override;

private:
    // One domain being looked up, for everybody who asked in the meantime.
    struct Job {
        std::vector<std::uint64_t> requests;
        const decide::NextHop* hop = nullptr;
        std::uint32_t connections = 0;       // by the rule
        std::unique_ptr<RouteLookup> lookup; // null: waits for its turn
    };

    Router(common::Surroundings& surroundings, const config::Config& config);
    void apply(const config::Config& config);
    void asked(proto::route::Route&& route);
    void asked_by_name(proto::route::Route&& route);
    Found best(const decide::RouteRule& rule) const;
    void look_up(const std::string& domain, const decide::NextHop& hop, std::uint32_t connections,
                 std::uint64_t request);
    void start_waiting();
    void found(const std::string& domain, Found found);
    std::vector<decide::NextHop> others(std::vector<decide::NextHop> hosts) const;
    void answer(std::uint64_t request, const std::string& domain, const Found& found,
                const std::string& rule = "");

    common::Surroundings& surroundings_;
    decide::RouteTable routes_;
    std::set<std::string> down_;                        // links, as the queue-manager says
    std::map<std::string, decide::NextHop> named_hops_; // of "via:" questions; jobs point to them
    std::vector<common::IpAddress> interfaces_;
    Ourselves ourselves_;
    std::unique_ptr<dns::Resolver> resolver_;
    std::map<std::string, Job> jobs_; // by domain; they end before the resolver
    std::deque<std::string> waiting_; // domains whose job has not begun
    std::size_t running_ = 0;
    common::TurnHook turn_; // begins waiting jobs, lets ended ones go
    std::vector<std::unique_ptr<RouteLookup>> ended_;
    ipc::Connector<proto::route::Message> queue_manager_;
};

} // namespace router
