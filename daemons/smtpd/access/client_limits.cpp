#include "daemons/smtpd/access/client_limits.h"

namespace smtpd {

using namespace std::chrono_literals;

ClientLimits::Admission ClientLimits::admit(const std::string& network, const Limits& limits, smtp::Monotonic now) {
    if (now - last_sweep_ > 1min) sweep(now);
    auto& count = counts_[network];
    if (now - count.minute >= 1min) {
        count.minute = now;
        count.connections = 0;
    }
    ++count.connections;
    if (limits.per_minute != 0 && count.connections > limits.per_minute) return Admission::too_many_connections;
    if (limits.sessions != 0 && count.sessions >= limits.sessions) return Admission::too_many_sessions;
    ++count.sessions;
    return Admission::admitted;
}

void ClientLimits::release(const std::string& network) {
    const auto at = counts_.find(network);
    if (at != counts_.end() && at->second.sessions > 0) --at->second.sessions;
}

void ClientLimits::sweep(smtp::Monotonic now) {
    last_sweep_ = now;
    std::erase_if(counts_,
                  [&](auto& entry) { return entry.second.sessions == 0 && now - entry.second.minute >= 1min; });
}

} // namespace smtpd
