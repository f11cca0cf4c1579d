#include "daemons/smtpd/session/name_lookup.h"
#include <utility>
#include <vector>

namespace smtpd {

bool wants_name(const Settings& settings, const common::IpAddress& address) {
    static const auto own = [] { // addresses that only their own network could name
        std::vector<common::Network> networks;
        for (auto text : {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10",
                          "fc00::/7", "fe80::/10"})
            networks.push_back(*common::Network::parse(text));
        return networks;
    }();
    if (!settings.smtpd.reverse_names || address.is_loopback() || address == common::IpAddress{}) return false;
    return !settings.dns.servers.empty() || !common::contains(own, address);
}

NameLookup::NameLookup(std::shared_ptr<dns::Resolver> resolver, common::Deadlines& deadlines,
                       const common::IpAddress& address, smtp::Monotonic until, Done done)
    : done_(std::move(done)), resolver_(std::move(resolver)), deadline_(deadlines, [this] { finish({}); }),
      lookup_(*resolver_, address, [this](const dns::ClientName::Names& names) { finish(names); }) {
    if (pending()) deadline_.set(until);
}

void NameLookup::abandon() {
    done_ = nullptr;
    deadline_.clear();
}

void NameLookup::finish(const dns::ClientName::Names& names) {
    deadline_.clear();
    if (const auto done = std::exchange(done_, nullptr)) done(names); // may destroy this
}

} // namespace smtpd
