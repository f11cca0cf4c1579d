#include "daemons/decide/hosts/srv.h"
#include <algorithm>
#include <fmt/format.h>

namespace decide {

Destination decide_srv(std::string_view domain, const SrvAnswer& wrapped, const SrvAnswer& starttls,
                       const IsSelf& is_self) {
    std::vector<Host> hosts;
    bool ours = false;
    const auto take = [&](const SrvAnswer& said, Tier tier) {
        for (const auto& record : said.records) {
            if (record.target.empty() || record.port == 0) continue; // "." is not a host, whatever the other fields
            const Host host{record.target, record.port, record.priority, record.weight, tier, tier == Tier::first};
            const bool known = std::ranges::any_of(
                hosts, [&](const Host& other) { return other.name == host.name && other.port == host.port; });
            if (is_self(host.name))
                ours = true;
            else if (!known)
                hosts.push_back(host);
        }
    };
    take(wrapped, Tier::first);
    take(starttls, Tier::second);
    if (!hosts.empty()) return Destination::of(RouteKind::mx, std::move(hosts));
    if (ours)
        return Destination::refuse(RouteKind::permanent, "5.4.6",
                                   fmt::format("mail for {} loops back to myself", domain));
    for (const auto& [said, name] : {std::pair(&wrapped, submissions), std::pair(&starttls, submission)})
        if (said->status == LookupStatus::failed)
            return Destination::refuse(
                RouteKind::temporary, "4.4.3",
                fmt::format("Host or domain name not found. Name service error for name={}{} type=SRV: Host not "
                            "found, try again{}",
                            name, domain, said->why.empty() ? "" : " (" + said->why + ")"));
    return Destination::refuse(RouteKind::permanent, "5.4.4",
                               fmt::format("{} offers no submission of mail: neither {}{} nor {}{} names a host",
                                           domain, submissions, domain, submission, domain));
}

} // namespace decide
