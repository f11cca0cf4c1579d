#include "daemons/http/failed_tokens.h"

namespace http {

namespace {
constexpr int v4_bits = 120, v6_bits = 64; // of 128
}

common::Network FailedTokens::network_of(const common::IpAddress& address) {
    common::Network network{address, address.is_v4() ? v4_bits : v6_bits};
    for (auto byte = static_cast<std::size_t>(network.bits / 8); byte < network.base.bytes.size(); ++byte)
        network.base.bytes[byte] = 0;
    return network;
}

bool FailedTokens::record(const common::IpAddress& from, const Limits& limits, smtp::Monotonic now) {
    if (limits.per_network == 0) return false;
    while (!counts_.empty() && now - counts_.front().since >= limits.window) forget_first();
    const auto base = network_of(from).base;
    const auto known = by_network_.find(base);
    if (known != by_network_.end()) return ++known->second->failures == limits.per_network;
    if (counts_.size() == most_networks) forget_first();
    by_network_[base] = counts_.insert(counts_.end(), {base, 1, now});
    return limits.per_network == 1;
}

std::optional<smtp::Duration> FailedTokens::locked_for(const common::IpAddress& from, const Limits& limits,
                                                       smtp::Monotonic now) const {
    const auto known = by_network_.find(network_of(from).base);
    if (limits.per_network == 0 || known == by_network_.end()) return {};
    const auto& count = *known->second;
    const auto left = count.since + limits.window - now;
    if (count.failures < limits.per_network || left <= smtp::Duration::zero()) return {};
    return left;
}

void FailedTokens::clear() {
    counts_.clear();
    by_network_.clear();
}

void FailedTokens::forget_first() {
    by_network_.erase(counts_.front().base);
    counts_.pop_front();
}

} // namespace http
