#include "daemons/smtpd/session/dns_list_failures.h"
#include <algorithm>

namespace smtpd {

void DnsListFailures::note(const std::string& zone, const dns::Answer& answer) {
    const auto known = std::ranges::find(failing_, zone);
    const bool failed = answer.said == dns::LookupStatus::failed;
    if (failed == (known != failing_.end())) return;
    if (failed) {
        log_.warning("DNS list {}: {}; it does not count until it answers", zone, answer.why);
        failing_.push_back(zone);
    } else {
        log_.info("DNS list {} answers again", zone);
        failing_.erase(known);
    }
}

} // namespace smtpd
