#include "daemons/smtp-client/connect/happy_eyeballs.h"
#include <algorithm>

namespace smtp_client {

using common::IpAddress;

void Race::known(Family family, Addresses addresses, smtp::Monotonic now) {
    if (!known_[0].known && !known_[1].known) resolution_until_ = now + delays_.resolution;
    auto& it = of(family);
    it.known = true;
    it.good.insert(it.good.end(), addresses.good.begin(), addresses.good.end());
    it.failed_lately.insert(it.failed_lately.end(), addresses.failed_lately.begin(),
                            addresses.failed_lately.end());
}

bool Race::empty() const {
    return std::ranges::all_of(known_, [](auto& it) { return it.good.empty() && it.failed_lately.empty(); });
}

bool Race::exhausted() const { return known_[0].known && known_[1].known && empty(); }

bool Race::only_failed_lately() const {
    return std::ranges::all_of(known_, [](auto& it) { return it.known && it.good.empty(); }) && !empty();
}

// IPv6 is better than IPv4, and anything than what failed lately.
bool Race::resolving() const {
    const auto &v6 = of(Family::v6), &v4 = of(Family::v4);
    return !v6.known || (!v4.known && v6.good.empty());
}

std::optional<smtp::Monotonic> Race::due() const {
    if (empty()) return {};
    return resolving() ? std::max(not_before_, resolution_until_) : not_before_;
}

std::optional<IpAddress> Race::next(smtp::Monotonic now) {
    const auto at = due();
    if (!at || now < *at) return {};
    const auto take = [&](Family family, std::deque<IpAddress>& from) {
        const auto address = from.front();
        from.pop_front();
        turn_ = family == Family::v6 ? Family::v4 : Family::v6;
        not_before_ = now + delays_.attempt;
        return address;
    };
    const auto first = turn_, second = turn_ == Family::v6 ? Family::v4 : Family::v6;
    for (const auto family : {first, second})
        if (auto& good = of(family).good; !good.empty()) return take(family, good);
    for (const auto family : {first, second})
        if (auto& bad = of(family).failed_lately; !bad.empty()) return take(family, bad);
    return {};
}

void Race::put_back(const IpAddress& address) {
    const auto family = address.is_v4() ? Family::v4 : Family::v6;
    of(family).good.push_front(address);
    turn_ = family;
}

} // namespace smtp_client
