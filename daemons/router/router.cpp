#include "daemons/router/router.h"
#include "daemons/decide/rerouting.h"
#include "libsmtp/utf8.h"
#include <utility>

namespace router {

namespace {

constexpr std::size_t at_a_time = 200; // domains being looked up; the name server is not to be drowned

proto::route::Kind kind_of(decide::Destination::Kind kind) {
    switch (kind) {
    case decide::Destination::Kind::mx: return proto::route::Kind::mx;
    case decide::Destination::Kind::configured: return proto::route::Kind::configured;
    case decide::Destination::Kind::temporary: return proto::route::Kind::temporary;
    case decide::Destination::Kind::permanent: return proto::route::Kind::permanent;
    }
    return proto::route::Kind::temporary;
}

// What a domain without a rule goes by: its own MX hosts.
const decide::NextHop own_mx;

} // namespace

spool::Result<std::unique_ptr<Router>> Router::create(common::Surroundings& surroundings,
                                                      common::Orders orders) {
    return std::unique_ptr<Router>(new Router(surroundings, orders.config));
}

Router::Router(common::Surroundings& surroundings, const config::Config& config)
    : surroundings_(surroundings), turn_(surroundings.loop, [this] { start_waiting(); }),
      queue_manager_(surroundings.loop, surroundings.log, surroundings.run + "/private/queue-manager",
                     proto::route::conversation, surroundings.identity,
                     {[this](proto::route::Message&& message) {
                          auto* route = std::get_if<proto::route::Route>(&message);
                          auto* state = std::get_if<proto::route::LinkState>(&message);
                          if (route)
                              asked(std::move(*route));
                          else if (state && state->down)
                              down_.insert(state->link);
                          else if (state)
                              down_.erase(state->link);
                          else
                              queue_manager_.fail("only Route and LinkState are said here");
                      },
                      {},
                      [this](const std::string&) { // it asks again when it is back
                          for (auto& [domain, job] : jobs_) job.requests.clear();
                          down_.clear(); // it tells anew
                      }}) {
    apply(config);
}

void Router::reconfigure(common::Orders orders) { apply(orders.config); }

// Questions under way are asked anew by the new rules.
void Router::apply(const config::Config& config) {
    auto open = std::exchange(jobs_, {});
    waiting_.clear();
    running_ = 0;
    ended_.clear();
    for (auto& [domain, job] : open) job.lookup.reset();
    resolver_ = std::make_unique<dns::Resolver>(surroundings_.loop, config.dns);
    routes_ = decide::RouteTable(config.routes);
    ourselves_ = Ourselves(config, Ourselves::interfaces());
    for (auto& [domain, job] : open)
        for (const auto request : job.requests) asked({request, domain});
}

void Router::stop(smtp::Duration, std::function<void()> done) {
    // Nothing is lost: who asked asks again.
    jobs_.clear();
    waiting_.clear();
    ended_.clear();
    done();
}

Found Router::best(const decide::RouteRule& rule) const {
    return of_rule(decide::best(rule, [this](const auto& link) { return down_.contains(link); }),
                   rule.connections);
}

void Router::asked(proto::route::Route&& route) {
    if (route.domain.starts_with(proto::route::via)) return asked_by_name(std::move(route));
    if (!smtp::is_ascii(route.domain)) // it came as far as here because nothing of the DNS can stand for it
        return answer(route.request, route.domain,
                      {decide::Destination::refuse(decide::Destination::Kind::permanent, "5.1.2",
                                                   route.domain + " is no name of a domain"),
                       3600});
    const auto* rule = routes_.find(route.domain);
    const auto connections = rule ? rule->connections : 0;
    const auto* hop = rule ? &rule->next_hops.front().front() : &own_mx;
    if (hop->kind == decide::NextHop::Kind::host)
        return answer(route.request, route.domain, best(*rule), rule->pattern);
    if (hop->kind == decide::NextHop::Kind::recipient && route.domain.starts_with('['))
        return answer(route.request, route.domain, literal(route.domain, ourselves_));
    look_up(route.domain, *hop, connections, route.request);
}

// The operator named the next hop himself, or the route that is to serve.
void Router::asked_by_name(proto::route::Route&& route) {
    const auto name = std::string_view(route.domain).substr(proto::route::via.size());
    if (const auto* rule = routes_.named(name)) {
        const auto& first = rule->next_hops.front().front();
        if (first.kind == decide::NextHop::Kind::host)
            return answer(route.request, route.domain, best(*rule), rule->pattern);
        if (first.kind == decide::NextHop::Kind::mx_of)
            return look_up(route.domain, first, rule->connections, route.request);
    }
    const auto hop = decide::NextHop::parse(name);
    if (!hop || hop->kind == decide::NextHop::Kind::recipient)
        return answer(route.request, route.domain,
                      {decide::Destination::refuse(decide::Destination::Kind::temporary, "4.3.5",
                                                   route.domain + " names no next hop"),
                       3600});
    if (hop->kind == decide::NextHop::Kind::host)
        return answer(route.request, route.domain, of_rule(decide::configured({*hop}), 0));
    look_up(route.domain, named_hops_.insert_or_assign(route.domain, *hop).first->second, 0, route.request);
}

void Router::look_up(const std::string& domain, const decide::NextHop& hop, std::uint32_t connections,
                     std::uint64_t request) {
    auto [job, is_new] = jobs_.try_emplace(domain);
    job->second.requests.push_back(request);
    job->second.hop = &hop;
    job->second.connections = connections;
    if (!is_new) return;
    waiting_.push_back(domain);
    turn_.schedule();
}

void Router::start_waiting() {
    ended_.clear();
    while (!waiting_.empty() && running_ < at_a_time) {
        const auto domain = std::move(waiting_.front());
        waiting_.pop_front();
        const auto job = jobs_.find(domain);
        if (job == jobs_.end()) continue;
        ++running_;
        job->second.lookup =
            std::make_unique<RouteLookup>(*resolver_, ourselves_, domain, *job->second.hop,
                                          [this, domain](Found what) { found(domain, what); });
    }
}

void Router::found(const std::string& domain, Found found) {
    auto job = jobs_.extract(domain);
    if (job.empty()) return;
    found.connections = job.mapped().connections;
    const bool by_name = domain.starts_with(proto::route::via);
    const auto* rule = by_name ? routes_.named(std::string_view(domain).substr(proto::route::via.size()))
                               : routes_.find(domain);
    for (const auto request : job.mapped().requests)
        answer(request, domain, found, rule ? rule->pattern : std::string());
    ended_.push_back(std::move(job.mapped().lookup)); // its callback is running: it goes with the turn
    --running_;
    turn_.schedule();
}

void Router::answer(std::uint64_t request, const std::string& domain, const Found& found,
                    const std::string& rule) {
    proto::route::Routed routed;
    routed.request = request;
    routed.domain = domain;
    routed.kind = kind_of(found.destination.kind);
    routed.link = found.destination.link;
    for (const auto& host : found.destination.hosts)
        routed.hosts.push_back(
            {host.name, host.port, host.preference, host.weight, host.tier, host.tls_wrap, host.protocol});
    routed.valid_seconds = found.valid_seconds;
    routed.connections = found.connections;
    routed.rule = rule;
    routed.status = found.destination.status;
    routed.text = found.destination.text;
    queue_manager_.send(routed);
}

} // namespace router
