#include "daemons/router/router.h"
#include "daemons/common/config/config.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/common/runtime/replace_file.h"
#include "daemons/decide/routing/failover_route.h"
#include "daemons/decide/routing/host_list.h"
#include "daemons/decide/routing/own_hosts.h"
#include "daemons/decide/routing/route_name.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <utility>

namespace router {

namespace {

constexpr std::size_t max_active = 200; // domains being looked up; the name server must not be overloaded
// Lookups whose name servers do not answer in time give up their place. Maximum number of these, in addition.
constexpr std::size_t max_slow = 10'000;

proto::route::StsPolicy said(const std::string& domain, const StsPolicy& known) {
    return {domain, known.policy.mode, known.id, known.policy.max_age, known.policy.mx};
}

// The route that a transport table named, as the domain was asked for; "" none.
std::string name_in(std::string_view asked) {
    if (!asked.starts_with(proto::route::via)) return {};
    const auto by = decide::RouteName::parse(asked.substr(proto::route::via.size()));
    return by ? by->route : std::string();
}

// The next hop of a domain without a rule: its own MX hosts.
const decide::NextHop own_mx;

} // namespace

spool::Result<std::unique_ptr<Router>> Router::create(common::DaemonContext& context,
                                                      common::DaemonConfig daemon_config) {
    const auto directory = daemon_config.config.spool.directory + "/state/mta-sts";
    TRY(common::make_state_directory(directory));
    auto router = std::unique_ptr<Router>(new Router(context, daemon_config.config, directory));
    router->listen(daemon_config);
    return router;
}

Router::Router(common::DaemonContext& context, const config::Config& config, const std::string& directory)
    : context_(context),
      sts_(context.loop, context.log, directory,
           {[this](const std::string& domain, const StsPolicy* policy) { policy_changed(domain, policy); },
            [this](const std::string& domain, StsPolicies::Failure failure, const std::string& why) {
                using decide::TlsResult;
                const auto result = failure == StsPolicies::Failure::invalid       ? TlsResult::sts_policy_invalid
                                    : failure == StsPolicies::Failure::certificate ? TlsResult::sts_webpki_invalid
                                                                                   : TlsResult::sts_policy_fetch_error;
                decide::TlsOutcome outcome{.domain = domain, .policy = decide::TlsPolicyType::sts, .result = result};
                outcome.reason = why;
                count(outcome, 1);
            }}),
      turn_(context.loop, [this] { start_waiting(); }),
      limiter_(context.loop, {max_active, max_slow}, [this] { turn_.schedule(); }),
      queue_manager_(context.loop, context.log, context.run_directory + "/private/queue-manager",
                     proto::route::conversation, context.identity,
                     {[this](proto::route::Message&& message) {
                          auto* route = std::get_if<proto::route::Route>(&message);
                          auto* state = std::get_if<proto::route::LinkState>(&message);
                          if (route)
                              on_question(std::move(*route));
                          else if (state && state->down)
                              down_.insert(state->link);
                          else if (state)
                              down_.erase(state->link);
                          else
                              queue_manager_.fail("unexpected message: only Route and LinkState are accepted "
                                                  "here");
                      },
                      {},
                      [this](const std::string&) { // it asks again when it is back
                          for (auto& [domain, job] : jobs_) job.questions.clear();
                          down_.clear(); // it reports all again
                      }}) {
    apply(config);
}

void Router::reconfigure(common::DaemonConfig daemon_config) {
    apply(daemon_config.config);
    listen(daemon_config);
}

// Questions under way are asked again by the new rules.
void Router::apply(const config::Config& config) {
    auto open = std::exchange(jobs_, {});
    waiting_.clear();
    limiter_.release_all();
    ended_.clear();
    for (auto& [domain, job] : open) job.lookup.reset();
    sts_.use(nullptr, nullptr);
    if (reporter_) reporter_->use(nullptr, nullptr, config.tls_reports, config.mta.hostname);
    resolver_ = std::make_unique<dns::Resolver>(context_.loop, config.dns);
    https_ = std::make_unique<common::Https>(context_.loop, authorities(config.smtp_client.tls_authorities));
    sts_.use(resolver_.get(), https_.get());
    set_reporter(config);
    tls_ = config.smtp_client.tls;
    routes_ = decide::RouteTable(config.routes);
    local_identity_ =
        LocalIdentity({config.mta.hostname, config.smtp_client.helo}, config.listeners, LocalIdentity::interfaces());
    for (auto& [domain, job] : open)
        for (const auto& question : job.questions) on_question({question.request, domain, question.pool});
}

void Router::stop(smtp::Duration, std::function<void()> done) {
    // Nothing is lost: clients ask again.
    jobs_.clear();
    waiting_.clear();
    ended_.clear();
    sts_.use(nullptr, nullptr);
    if (reporter_) reporter_->save();
    reporter_.reset();
    done();
}

// --- TLS reports
// ----------------------------------------------------------------------------------------------------

void Router::set_reporter(const config::Config& config) {
    if (!config.tls_reports.enabled) return reporter_.reset();
    const auto directory = config.spool.directory + "/state/tls-reports";
    if (const auto made = common::make_state_directory(directory); !made)
        return context_.log.error("{}; no TLS reports are sent", made.error().what);
    if (!reporter_)
        reporter_ =
            std::make_unique<TlsReporter>(context_.loop, context_.log, directory, context_.run_directory + "/submit");
    reporter_->use(resolver_.get(), https_.get(), config.tls_reports, config.mta.hostname);
}

void Router::listen(common::DaemonConfig& daemon_config) {
    if (listener_) return listener_->expect(daemon_config.expected); // the socket in force stays
    auto fd = daemon_config.take("router");
    if (!fd) return;
    listener_ = std::make_unique<ipc::Listener>(context_.loop, context_.log, std::move(fd), daemon_config.expected);
    listener_->serve<proto::tls_results::Message>(proto::tls_results::conversation, {proto::Role::smtp_client},
                                                  [this](ipc::Peer, auto channel) { add_channel(std::move(channel)); });
}

void Router::add_channel(std::unique_ptr<ipc::Channel<proto::tls_results::Message>> channel) {
    const auto number = ++last_channel_;
    channel->set_callbacks({[this](proto::tls_results::Message&& message) {
                                for (const auto& each : std::get<proto::tls_results::Results>(message).results)
                                    count(each.outcome, each.sessions);
                            },
                            [this, number](const std::string&) { result_channels_.erase(number); }});
    result_channels_.emplace(number, std::move(channel));
}

// The policy's text is known here, not where the session was.
void Router::count(const decide::TlsOutcome& outcome, std::uint64_t sessions) {
    if (!reporter_) return;
    std::vector<std::string> text = outcome.records, hosts;
    if (outcome.policy == decide::TlsPolicyType::sts)
        if (const auto* known = sts_.known(outcome.domain)) {
            text = lines_of(known->policy);
            hosts = known->policy.mx;
        }
    reporter_->count(outcome, sessions, text, hosts);
}

std::string Router::authorities(const std::string& file) const {
    if (file.empty()) return "";
    auto text = common::read_file(file);
    if (text) return *std::move(text);
    context_.log.warning("smtp_client.tls_ca_file: {}; no web server's certificate can be verified", text.error().what);
    return "";
}

// Links from different pools of source addresses are down each for itself.
RouteResult Router::best(const decide::RouteRule& rule, const Question& question, std::string_view by) const {
    const auto& pool = question.pool.empty() ? rule.pool : question.pool;
    const auto is_down = [&](const auto& link) {
        return down_.contains(decide::link_from(decide::link_by(by, link), pool));
    };
    return route_of_rule(decide::best(rule, is_down), rule.connections);
}

void Router::on_question(proto::route::Route&& route) {
    if (route.domain.starts_with(proto::route::via)) return asked_by_name(std::move(route));
    const Question question{route.request, route.pool};
    if (!smtp::is_ascii(route.domain)) // it came this far because it has no form in the DNS
        return answer(question, route.domain,
                      {decide::Destination::refuse(decide::RouteKind::permanent, "5.1.2",
                                                   route.domain + " is not a valid domain name"),
                       3600});
    const auto* rule = routes_.find(route.domain);
    const auto* hop = rule ? &rule->next_hops.front().front() : &own_mx;
    if (hop->kind == decide::NextHop::Kind::host)
        return answer(question, route.domain, best(*rule, question), rule->pattern);
    if (hop->kind == decide::NextHop::Kind::recipient && route.domain.starts_with('['))
        return answer(question, route.domain, route_to_literal(route.domain, local_identity_));
    look_up(route.domain, *hop, rule, route.domain, question);
}

// The operator named the next hop, or the route to use.
void Router::asked_by_name(proto::route::Route&& route) {
    const auto name = std::string_view(route.domain).substr(proto::route::via.size());
    const Question question{route.request, route.pool};
    if (const auto* rule = routes_.named(name)) {
        const auto& first = rule->next_hops.front().front();
        if (first.kind == decide::NextHop::Kind::host)
            return answer(question, route.domain, best(*rule, question), rule->pattern);
        if (first.kind != decide::NextHop::Kind::recipient) return look_up(route.domain, first, rule, "", question);
    }
    if (auto own = decide::OwnHosts::parse(name)) {
        if (own->domain.starts_with('['))
            return answer(question, route.domain, route_to_literal(own->domain, local_identity_));
        const decide::NextHop hop{.port = own->port};
        return look_up(route.domain, hop, nullptr, std::move(own->domain), question);
    }
    if (auto by = decide::RouteName::parse(name)) {
        if (const auto* rule = routes_.named(by->route))
            return ask_named_route(*rule, *std::move(by), route.domain, question);
        const auto why = fmt::format("there is no [route.\"{}\"]: put it back, or change the transport "
                                     "table and use \"postrider message requeue\"",
                                     by->route);
        return answer(question, route.domain,
                      {decide::Destination::refuse(decide::RouteKind::temporary, "4.3.5", why), 3600});
    }
    if (const auto list = decide::HostList::parse(name))
        return answer(question, route.domain, route_of_rule(decide::in_order(list->hosts), 0));
    const auto hop = decide::NextHop::parse(name);
    if (!hop || hop->kind == decide::NextHop::Kind::recipient)
        return answer(
            question, route.domain,
            {decide::Destination::refuse(decide::RouteKind::temporary, "4.3.5", route.domain + " names no next hop"),
             3600});
    if (hop->kind == decide::NextHop::Kind::host)
        return answer(question, route.domain, route_of_rule(decide::configured({*hop}), 0));
    look_up(route.domain, *hop, nullptr, "", question);
}

// A transport table named the route. `domain`: as it was asked for.
void Router::ask_named_route(const decide::RouteRule& rule, decide::RouteName name, const std::string& domain,
                             Question question) {
    const auto& first = rule.next_hops.front().front();
    if (!name.hop && first.kind == decide::NextHop::Kind::host)
        return answer(question, domain, best(rule, question, name.route), rule.pattern);
    if (name.hop && name.hop->kind == decide::NextHop::Kind::host) {
        auto hosts = std::move(name.further);
        hosts.insert(hosts.begin(), *name.hop);
        return answer(question, domain, route_of_rule(decide::in_order(hosts, rule.tls_wrap), rule.connections),
                      rule.pattern);
    }
    if (!name.hop && first.kind == decide::NextHop::Kind::recipient && name.domain.empty())
        return answer(question, domain,
                      {decide::Destination::refuse(decide::RouteKind::temporary, "4.3.5",
                                                   fmt::format("[route.\"{}\"] has no next_hop, but mail goes there "
                                                               "whatever its recipients: give it one",
                                                               name.route)),
                       3600},
                      rule.pattern);
    if (!name.hop && first.kind == decide::NextHop::Kind::recipient && name.domain.starts_with('['))
        return answer(question, domain, route_to_literal(name.domain, local_identity_), rule.pattern);
    look_up(domain, name.hop.value_or(first), &rule, std::move(name.domain), std::move(question));
}

// `domain`: as it was asked for. `recipients`: their domain.
void Router::look_up(const std::string& domain, decide::NextHop hop, const decide::RouteRule* rule,
                     std::string recipients, Question question) {
    auto [job, is_new] = jobs_.try_emplace(domain);
    job->second.questions.push_back(std::move(question));
    job->second.hop = std::move(hop);
    job->second.rule = rule;
    job->second.recipients = std::move(recipients);
    if (!is_new) return;
    waiting_.push_back(domain);
    turn_.schedule();
}

void Router::start_waiting() {
    ended_.clear();
    while (!waiting_.empty() && limiter_.is_free()) {
        const auto domain = std::move(waiting_.front());
        waiting_.pop_front();
        const auto job = jobs_.find(domain);
        if (job == jobs_.end()) continue;
        job->second.ticket = limiter_.acquire();
        if (const auto asked = policy_domain(job->second); !asked.empty())
            sts_.prefetch(asked); // in parallel with its hosts
        job->second.lookup =
            std::make_unique<RouteLookup>(*resolver_, local_identity_, job->second.recipients, job->second.hop,
                                          [this, domain](RouteResult what) { found(domain, what); });
    }
}

void Router::found(const std::string& domain, RouteResult found) {
    const auto place = jobs_.find(domain);
    if (place == jobs_.end()) return;
    auto& job = place->second;
    ended_.push_back(std::move(job.lookup)); // its callback is running: destroyed at the end of the turn
    limiter_.release(job.ticket);
    turn_.schedule();
    job.found = std::move(found);
    job.found.connections = job.rule ? job.rule->connections : 0;
    const auto asked = job.found.destination.found() ? policy_domain(job) : std::string();
    if (asked.empty()) return finish(domain, asked, nullptr);
    sts_.find(asked, [this, domain, asked](const StsPolicy* policy, std::uint32_t valid_seconds) {
        auto& valid = jobs_.at(domain).found.valid_seconds;
        valid = std::min(valid, valid_seconds);
        finish(domain, asked, policy);
    });
}

// The name whose MX hosts are used is the one whose policy counts (RFC 8461, 3.4). "": none does.
std::string Router::policy_domain(const Job& job) const {
    if (job.recipients.empty()) return "";
    const auto level = decide::tls_level(routes_, job.recipients, job.rule ? job.rule->pattern : std::string(), tls_);
    if (level != decide::TlsLevel::sts) return "";
    return job.hop.kind == decide::NextHop::Kind::recipient ? job.recipients : job.hop.name;
}

void Router::finish(const std::string& domain, const std::string& policy_domain, const StsPolicy* policy) {
    const auto job = jobs_.extract(domain);
    const auto* rule = job.mapped().rule;
    const auto sts = policy ? said(policy_domain, *policy) : proto::route::StsPolicy{};
    for (const auto& question : job.mapped().questions)
        answer(question, domain, job.mapped().found, rule ? rule->pattern : std::string(), sts);
}

void Router::policy_changed(const std::string& domain, const StsPolicy* policy) {
    // A policy is 64 KiB at most. Nothing is sent while the queue-manager is away: it asks again for every domain.
    static_cast<void>(queue_manager_.send(
        proto::route::StsChanged{policy ? said(domain, *policy) : proto::route::StsPolicy{domain}}));
}

bool Router::is_this_system(const std::string& name, std::uint16_t port) const {
    const auto address = common::IpAddress::parse(name == "localhost" ? "127.0.0.1" : name);
    return address ? local_identity_.is_address(*address, port)
                   : local_identity_.is_name(name) && local_identity_.listens_on(port);
}

// Those that are not this very system.
std::vector<decide::NextHop> Router::without_this_system(std::vector<decide::NextHop> hosts) const {
    std::erase_if(hosts, [this](const decide::NextHop& hop) { return is_this_system(hop.name, hop.port); });
    return hosts;
}

// Hosts that a rule names: if all of them are this very system, mail would loop until it has too many hops.
RouteResult Router::without_this_system(const std::string& domain, RouteResult found) const {
    if (found.destination.kind != decide::RouteKind::configured) return found;
    std::erase_if(found.destination.hosts,
                  [this](const decide::Host& host) { return is_this_system(host.name, host.port); });
    if (found.destination.hosts.empty())
        found.destination = decide::Destination::refuse(
            decide::RouteKind::permanent, "5.4.6",
            fmt::format("mail for {} loops back to myself: its next hop is a listener of this system", domain));
    return found;
}

void Router::answer(const Question& question, const std::string& domain, const RouteResult& given,
                    const std::string& rule, const proto::route::StsPolicy& sts) {
    proto::route::Routed routed;
    const auto found = without_this_system(domain, given);
    const auto* by = rule.empty() ? nullptr : routes_.named(rule);
    routed.request = question.request;
    routed.domain = domain;
    routed.asked_pool = question.pool;
    const auto& pool = by && question.pool.empty() ? by->pool : question.pool;
    const auto destination =
        by ? decide::with_fallback(found.destination, without_this_system(by->fallback)) : found.destination;
    routed.kind = destination.kind;
    if (destination.found()) routed.link = decide::link_from(decide::link_by(name_in(domain), destination.link), pool);
    for (const auto& host : destination.hosts)
        routed.hosts.push_back({host.name, host.port, host.preference, host.weight, host.tier, host.tls_wrap,
                                host.protocol, host.account});
    routed.valid_seconds = found.valid_seconds;
    routed.connections = found.connections;
    routed.rule = rule;
    routed.secure = found.secure;
    routed.sts = sts;
    routed.status = destination.status;
    routed.text = destination.text;
    routed.records_of = found.records_of;
    routed.by_srv = found.by_srv;
    if (queue_manager_.send(routed) != ipc::SendResult::too_long) return;
    routed.text = fmt::format("the list of its hosts is too long: {} of them", routed.hosts.size());
    context_.log.warning("{}: {}", domain, routed.text);
    routed.kind = decide::RouteKind::temporary;
    routed.status = "4.4.3";
    routed.hosts.clear();
    routed.sts = {};
    static_cast<void>(queue_manager_.send(routed));
}

} // namespace router
