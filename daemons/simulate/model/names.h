// Where the mail for a domain goes, as the router would answer: from the configured routes, the scenario's DNS and
// the links that are down. The same decisions (daemons/decide) with simulated lookups.
#pragma once
#include "daemons/common/config/sections/delivery/dns.h"
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/routing/routing.h"
#include "daemons/simulate/scenario/scenario.h"
#include <set>
#include <string>

namespace postrider::simulate {

class SimulatedRouter {
public:
    // The scenario must outlive it.
    SimulatedRouter(config::Mta mta, config::Dns dns, const std::vector<decide::RouteRule>& routes,
                    const Scenario& scenario);

    struct Found {
        decide::Destination destination;
        smtp::Duration valid{};
        const decide::RouteRule* rule = nullptr; // null: none
    };
    // `pool`: of source addresses, as the mail names it.
    Found find(const std::string& domain, smtp::Duration now, std::string_view pool = {}) const;

    void link_state(std::string_view link, bool down);

private:
    Found find_hosts(const std::string& domain, const decide::RouteRule* rule, std::string_view pool,
                     smtp::Duration now) const;
    decide::Destination look_up(const std::string& domain, std::uint16_t port, smtp::Duration now) const;

    const config::Mta mta_;
    const config::Dns dns_;
    const Scenario& scenario_;
    decide::RouteTable routes_;
    std::set<std::string, std::less<>> down_; // links, as reported by the queue
};

} // namespace postrider::simulate
