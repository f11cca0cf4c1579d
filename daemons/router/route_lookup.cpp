#include "daemons/router/route_lookup.h"
#include "daemons/decide/routing/failover_route.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace router {

using decide::Destination;
using decide::LookupStatus;

namespace {

constexpr std::uint32_t configured_valid = 3600; // a reload asks again anyway

} // namespace

RouteResult route_of_rule(Destination destination, std::uint32_t connections) {
    return {std::move(destination), configured_valid, connections, true};
}

RouteResult route_to_literal(const std::string& domain, const LocalIdentity& local_identity) {
    std::string_view inside = domain;
    inside.remove_prefix(1);
    if (inside.ends_with(']')) inside.remove_suffix(1);
    if (inside.starts_with("ipv6:") || inside.starts_with("IPv6:")) inside.remove_prefix(5);
    const auto address = common::IpAddress::parse(inside);
    if (!address)
        return {Destination::refuse(decide::RouteKind::permanent, "5.1.2", fmt::format("{} is not an address", domain)),
                configured_valid};
    if (local_identity.is_address(*address, 25))
        return {Destination::refuse(decide::RouteKind::permanent, "5.4.6",
                                    fmt::format("mail for {} loops back to myself", domain)),
                configured_valid};
    return {Destination::of(decide::RouteKind::mx, {{address->to_string(), 25, 0}}), configured_valid};
}

RouteLookup::RouteLookup(dns::Resolver& resolver, const LocalIdentity& local_identity, std::string domain,
                         const decide::NextHop& hop, Done done)
    : resolver_(resolver), local_identity_(local_identity), port_(hop.port),
      by_rule_(hop.kind != decide::NextHop::Kind::recipient), by_srv_(hop.kind == decide::NextHop::Kind::srv),
      done_(std::move(done)) {
    name_ = by_rule_ ? hop.name : std::move(domain);
    if (by_srv_)
        look_up_srv();
    else
        mx_lookup_ =
            resolver_.look_up(name_, dns::Type::mx, [this](const dns::Answer& answer) { on_mx_answer(answer); });
}

void RouteLookup::look_up_srv() {
    open_ = 2;
    ttl_ = UINT32_MAX;
    for (const auto& [service, said] : {std::pair(decide::submissions, &wrapped_), {decide::submission, &starttls_}})
        lookups_.push_back(resolver_.look_up(
            std::string(service) + name_, dns::Type::srv, [this, said = said](const dns::Answer& answer) {
                *said = {answer.said, answer.srv, answer.why};
                ttl_ = std::min(ttl_, answer.ttl);
                if (--open_ > 0) return;
                finish(decide::decide_srv(name_, wrapped_, starttls_,
                                          [this](const std::string& host) { return local_identity_.is_name(host); }));
            }));
}

void RouteLookup::on_mx_answer(const dns::Answer& answer) {
    mx_ = answer;
    ttl_ = answer.ttl;
    std::set<std::string> hosts;
    if (answer.said == LookupStatus::no_data) hosts.insert(name_);
    // Only an address we listen on at that port can be ours; names are compared without any lookup.
    if (answer.said == LookupStatus::records && local_identity_.listens_on(port_))
        for (const auto& record : answer.mx)
            if (!record.host.empty() && !local_identity_.is_name(record.host)) hosts.insert(record.host);
    if (hosts.empty()) return addresses_known();
    look_up_addresses(hosts);
}

void RouteLookup::look_up_addresses(const std::set<std::string>& hosts) {
    open_ = hosts.size() * 2;
    for (const auto& host : hosts)
        for (const auto type : {dns::Type::a, dns::Type::aaaa})
            lookups_.push_back(resolver_.look_up(host, type, [this, host, type](const dns::Answer& answer) {
                auto& known = addresses_[host];
                known.insert(known.end(), answer.addresses.begin(), answer.addresses.end());
                if (mx_.said == LookupStatus::no_data) {
                    (type == dns::Type::a ? a_ : aaaa_) = answer.said;
                    if (answer.said == LookupStatus::failed) why_ = answer.why;
                    ttl_ = std::min(ttl_, answer.ttl);
                }
                if (--open_ == 0) addresses_known();
            }));
}

void RouteLookup::addresses_known() {
    const auto self = [this](const std::string& host) { return is_self(host); };
    auto decision = decide::decide_mx(name_, mx_.said, std::move(mx_.mx), mx_.why, port_, self);
    if (decision.address_only) decision.destination = decide::decide_address_only(name_, a_, aaaa_, why_, port_, self);
    finish(std::move(decision.destination));
}

bool RouteLookup::is_self(const std::string& host) const {
    if (local_identity_.is_name(host)) return true;
    const auto known = addresses_.find(host);
    return known != addresses_.end() &&
           std::any_of(known->second.begin(), known->second.end(),
                       [&](const auto& address) { return local_identity_.is_address(address, port_); });
}

void RouteLookup::finish(Destination destination) {
    if (by_rule_) destination = decide::named_by_rule(std::move(destination));
    const auto done = std::move(done_);
    done({std::move(destination), std::max(ttl_, 1u), 0, mx_.secure, name_, by_srv_});
}

} // namespace router
