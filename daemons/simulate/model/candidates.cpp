#include "daemons/simulate/model/candidates.h"
#include <algorithm>

namespace postrider::simulate {

using decide::Tier;

Candidates::Candidates(const std::vector<decide::Host>& hosts, std::size_t most, const decide::Chance& chance)
    : most_(most), left_(most) {
    std::vector<decide::Rank> ranks;
    for (const auto& host : hosts) ranks.push_back({host.tier, host.preference, host.weight});
    for (const auto place : decide::host_order(ranks, chance)) hosts_.push_back(hosts[place]);
}

// Hosts are too many for all to have a turn: those that failed lately come behind the others of their tier, or a few
// dead ones would keep mail from those that serve, for ever.
std::optional<decide::Host> Candidates::next(const RecentFailures& memory, smtp::Duration now) {
    if (left_ == 0) { // of this tier
        std::erase_if(hosts_, [&](auto& each) { return tier_ == Tier::fallback || each.tier != Tier::fallback; });
        postponed_ = 0;
    }
    while (!hosts_.empty()) {
        auto host = std::move(hosts_.front());
        hosts_.pop_front();
        const auto end = std::ranges::find_if(hosts_, [&](auto& each) { return each.tier != host.tier; });
        const auto behind = static_cast<std::size_t>(end - hosts_.begin());
        postponed_ = std::min(postponed_, behind);
        if (host.tier == Tier::fallback && tier_ != Tier::fallback) left_ = most_;
        tier_ = host.tier;
        if (behind - postponed_ >= left_ && memory.contains(host.name, now)) {
            hosts_.insert(end, std::move(host));
            ++postponed_;
            continue;
        }
        --left_;
        return host;
    }
    return {};
}

void Candidates::drop_fallback() {
    if (tier_ != Tier::fallback) std::erase_if(hosts_, [](auto& each) { return each.tier == Tier::fallback; });
}

} // namespace postrider::simulate
