#include "daemons/smtp-client/connect/happy_eyeballs.h"
#include <algorithm>

namespace smtp_client {

using common::IpAddress;

void HappyEyeballs::add_answer(Family family, Addresses addresses, smtp::Monotonic now) {
    if (!families_[0].answered && !families_[1].answered) resolution_until_ = now + delays_.resolution;
    auto& it = of(family);
    it.answered = true;
    it.good.insert(it.good.end(), addresses.good.begin(), addresses.good.end());
    it.failed_lately.insert(it.failed_lately.end(), addresses.failed_lately.begin(), addresses.failed_lately.end());
}

bool HappyEyeballs::empty() const {
    return std::ranges::all_of(families_, [](auto& it) { return it.good.empty() && it.failed_lately.empty(); });
}

bool HappyEyeballs::exhausted() const { return families_[0].answered && families_[1].answered && empty(); }

bool HappyEyeballs::only_failed_lately() const {
    return std::ranges::all_of(families_, [](auto& it) { return it.answered && it.good.empty(); }) && !empty();
}

// IPv6 is better than IPv4, and anything than what failed lately.
bool HappyEyeballs::resolving() const {
    const auto &v6 = of(Family::v6), &v4 = of(Family::v4);
    return !v6.answered || (!v4.answered && v6.good.empty());
}

std::optional<smtp::Monotonic> HappyEyeballs::due() const {
    if (empty()) return {};
    return resolving() ? std::max(not_before_, resolution_until_) : not_before_;
}

std::optional<IpAddress> HappyEyeballs::next(smtp::Monotonic now) {
    const auto at = due();
    if (!at || now < *at) return {};
    const auto take = [&](Family family, std::deque<IpAddress>& from) {
        const auto address = from.front();
        from.pop_front();
        next_family_ = family == Family::v6 ? Family::v4 : Family::v6;
        not_before_ = now + delays_.attempt;
        return address;
    };
    const auto first = next_family_, second = next_family_ == Family::v6 ? Family::v4 : Family::v6;
    for (const auto family : {first, second})
        if (auto& good = of(family).good; !good.empty()) return take(family, good);
    for (const auto family : {first, second})
        if (auto& bad = of(family).failed_lately; !bad.empty()) return take(family, bad);
    return {};
}

void HappyEyeballs::put_back(const IpAddress& address) {
    const auto family = address.is_v4() ? Family::v4 : Family::v6;
    of(family).good.push_front(address);
    next_family_ = family;
}

} // namespace smtp_client
