#include "daemons/simulate/model/names.h"
#include "daemons/decide/routing/failover_route.h"
#include <algorithm>

namespace postrider::simulate {

using namespace std::chrono_literals;
using decide::LookupStatus;
using decide::NextHop;

namespace {

constexpr smtp::Duration configured_valid = 1h;

const Fault* find_fault(const Scenario& scenario, const std::string& domain, smtp::Duration now) {
    const auto found = std::ranges::find_if(scenario.faults, [&](const Fault& each) {
        return is_dns_fault(each.kind) && now >= each.from && now < each.until() &&
               std::ranges::find(each.domains, domain) != each.domains.end();
    });
    return found == scenario.faults.end() ? nullptr : &*found;
}

} // namespace

SimulatedRouter::SimulatedRouter(config::Mta mta, config::Dns dns, const std::vector<decide::RouteRule>& routes,
                                 const Scenario& scenario)
    : mta_(std::move(mta)), dns_(std::move(dns)), scenario_(scenario), routes_(routes) {}

void SimulatedRouter::link_state(std::string_view link, bool down) {
    if (down)
        down_.emplace(link);
    else if (const auto known = down_.find(link); known != down_.end())
        down_.erase(known);
}

SimulatedRouter::Found SimulatedRouter::find(const std::string& domain, smtp::Duration now,
                                             std::string_view pool) const {
    const auto* rule = routes_.find(domain);
    if (rule && pool.empty()) pool = rule->pool;
    auto found = find_hosts(domain, rule, pool, now);
    if (found.destination.found()) found.destination.link = decide::link_from(found.destination.link, pool);
    return found;
}

SimulatedRouter::Found SimulatedRouter::find_hosts(const std::string& domain, const decide::RouteRule* rule,
                                                   std::string_view pool, smtp::Duration now) const {
    const NextHop hop = rule ? rule->next_hops.front().front() : NextHop{};
    if (hop.kind == NextHop::Kind::host)
        return {
            decide::best(*rule, [&](const std::string& link) { return down_.contains(decide::link_from(link, pool)); }),
            configured_valid, rule};
    // Where a name takes submitted mail is as good as its MX: a scenario knows no other hosts of it.
    const bool by_rule = hop.kind != NextHop::Kind::recipient;
    const auto& name = by_rule ? hop.name : domain;
    auto destination = look_up(name, hop.port, now);
    const auto* known = scenario_.domain(name);
    auto valid = known ? known->ttl : Domain{}.ttl;
    if (destination.kind == decide::RouteKind::permanent) valid = std::min(valid, dns_.negative_ttl);
    if (by_rule) destination = decide::named_by_rule(std::move(destination));
    if (rule) destination = decide::with_fallback(std::move(destination), rule->fallback);
    if (destination.kind == decide::RouteKind::temporary) valid = dns_.failure_ttl;
    return {std::move(destination), valid, rule};
}

decide::Destination SimulatedRouter::look_up(const std::string& domain, std::uint16_t port, smtp::Duration now) const {
    LookupStatus said = LookupStatus::records;
    if (const auto* fault = find_fault(scenario_, domain, now))
        said = fault->kind == FaultKind::no_dns ? LookupStatus::failed : LookupStatus::no_name;
    std::vector<decide::MxRecord> records;
    std::uint16_t preference = 10;
    if (const auto* known = scenario_.domain(domain))
        for (const auto& host : known->mx) {
            records.push_back({preference, host});
            preference = static_cast<std::uint16_t>(preference + 10);
        }
    if (records.empty()) records.push_back({preference, "mx." + domain});
    const auto is_self = [this](const std::string& host) { return host == mta_.hostname; };
    return decide::decide_mx(domain, said, std::move(records), "", port, is_self).destination;
}

} // namespace postrider::simulate
