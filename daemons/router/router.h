// The router: answers the queue-manager's question where a domain's mail goes, by the configured routes and
// the name system. Knows no message.
#pragma once
#include "daemons/common/ipc/connector.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/common/net/dns/resolver.h"
#include "daemons/common/net/https.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/proto/route.h"
#include "daemons/common/proto/tls_results.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/decide/routing/route_name.h"
#include "daemons/decide/routing/routing.h"
#include "daemons/router/local_identity.h"
#include "daemons/router/lookup_limiter.h"
#include "daemons/router/route_lookup.h"
#include "daemons/router/sts_policies.h"
#include "daemons/router/tls_reporter.h"
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
    static spool::Result<std::unique_ptr<Router>> create(common::DaemonContext& context,
                                                         common::DaemonConfig daemon_config);
    void reconfigure(common::DaemonConfig daemon_config) override;
    void stop(smtp::Duration within, std::function<void()> done) override;

private:
    struct Question {
        std::uint64_t request = 0;
        std::string pool; // of source addresses that the mail names
    };
    // One domain being looked up, for all questions about it in the meantime.
    struct Job {
        std::vector<Question> questions;
        decide::NextHop hop;
        const decide::RouteRule* rule = nullptr;
        std::string recipients;              // their domain, whose own MX hosts are looked up; "": it has none here
        std::unique_ptr<RouteLookup> lookup; // null: waits for its turn, or is done
        LookupLimiter::Ticket ticket = 0;
        RouteResult found; // while its domain's policy is asked for
    };

    Router(common::DaemonContext& context, const config::Config& config, const std::string& directory);
    void apply(const config::Config& config);
    void listen(common::DaemonConfig& daemon_config);
    void add_channel(std::unique_ptr<ipc::Channel<proto::tls_results::Message>> channel);
    void count(const decide::TlsOutcome& outcome, std::uint64_t sessions);
    void set_reporter(const config::Config& config);
    void on_question(proto::route::Route&& route);
    void asked_by_name(proto::route::Route&& route);
    void ask_named_route(const decide::RouteRule& rule, decide::RouteName name, const std::string& domain,
                         Question question);
    std::string authorities(const std::string& file) const;
    // `by`: the name by which the route was asked for; "" none.
    RouteResult best(const decide::RouteRule& rule, const Question& question, std::string_view by = {}) const;
    void look_up(const std::string& domain, decide::NextHop hop, const decide::RouteRule* rule, std::string recipients,
                 Question question);
    void start_waiting();
    void found(const std::string& domain, RouteResult found);
    bool is_this_system(const std::string& name, std::uint16_t port) const;
    RouteResult without_this_system(const std::string& domain, RouteResult found) const;
    std::vector<decide::NextHop> without_this_system(std::vector<decide::NextHop> hosts) const;
    std::string policy_domain(const Job& job) const;
    void finish(const std::string& domain, const std::string& policy_domain, const StsPolicy* policy);
    void policy_changed(const std::string& domain, const StsPolicy* policy);
    void answer(const Question& question, const std::string& domain, const RouteResult& found,
                const std::string& rule = "", const proto::route::StsPolicy& sts = {});

    common::DaemonContext& context_;
    decide::RouteTable routes_;
    std::set<std::string> down_; // links, as reported by the queue-manager
    LocalIdentity local_identity_;
    std::unique_ptr<dns::Resolver> resolver_;
    std::unique_ptr<common::Https> https_;
    StsPolicies sts_;                              // its lookups end before the resolver
    decide::TlsLevel tls_ = decide::TlsLevel::may; // where no route sets it
    std::unique_ptr<TlsReporter> reporter_;        // if there are to be reports
    std::unique_ptr<ipc::Listener> listener_;
    std::map<std::uint64_t, std::unique_ptr<ipc::Channel<proto::tls_results::Message>>>
        result_channels_; // smtp-clients
    std::uint64_t last_channel_ = 0;
    std::map<std::string, Job> jobs_; // by domain; they end before the resolver
    std::deque<std::string> waiting_; // domains whose job has not begun
    common::TurnHook turn_;           // begins waiting jobs, lets ended ones go
    LookupLimiter limiter_;           // of jobs that have begun
    std::vector<std::unique_ptr<RouteLookup>> ended_;
    ipc::Connector<proto::route::Message> queue_manager_;
};

} // namespace router
