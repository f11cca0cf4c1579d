// The way of one domain from a rule to its hosts: the lookups it takes, one after the other, and what the
// decisions (daemons/decide/hosts/mx.h) make of them. Destroying it ends the lookups.
#pragma once
#include "daemons/common/net/dns/resolver.h"
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/hosts/srv.h"
#include "daemons/decide/routing/routing.h"
#include "daemons/router/local_identity.h"
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace router {

struct RouteResult {
    decide::Destination destination;
    std::uint32_t valid_seconds = 0;
    std::uint32_t connections = 0; // by the rule
    bool secure = false;           // the hosts' names are proven by DNSSEC, or configured
    std::string records_of = {};   // the name whose records were queried; "" none
    bool by_srv = false;           // SRV; else MX
};

// Hosts that a rule names (daemons/decide/routing/failover_route.h). It takes no lookup.
RouteResult route_of_rule(decide::Destination destination, std::uint32_t connections);
// "[192.0.2.1]", "[IPv6:2001:db8::1]": the host itself.
RouteResult route_to_literal(const std::string& domain, const LocalIdentity& local_identity);

class RouteLookup {
public:
    using Done = std::function<void(RouteResult)>;

    // `hop`: anything but Kind::host. `done` is called once, from the loop, and may destroy this.
    RouteLookup(dns::Resolver& resolver, const LocalIdentity& local_identity, std::string domain,
                const decide::NextHop& hop, Done done);
    RouteLookup(const RouteLookup&) = delete;
    RouteLookup& operator=(const RouteLookup&) = delete;

private:
    void look_up_srv();
    void on_mx_answer(const dns::Answer& answer);
    void look_up_addresses(const std::set<std::string>& hosts);
    void addresses_known();
    void finish(decide::Destination destination);
    bool is_self(const std::string& host) const;

    dns::Resolver& resolver_;
    const LocalIdentity& local_identity_;
    std::string name_; // whose MX is queried
    std::uint16_t port_;
    bool by_rule_; // the name is our configuration's, not the recipient's
    bool by_srv_;
    Done done_;
    dns::Lookup mx_lookup_;
    dns::Answer mx_;
    decide::SrvAnswer wrapped_, starttls_; // of submission
    std::vector<dns::Lookup> lookups_;
    std::size_t open_ = 0;
    std::map<std::string, std::vector<common::IpAddress>> addresses_;
    decide::LookupStatus a_ = decide::LookupStatus::failed,
                         aaaa_ = decide::LookupStatus::failed; // for a domain without MX
    std::string why_;
    std::uint32_t ttl_ = 0;
};

} // namespace router
