#include "daemons/metrics/link_counts.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace metrics {

static std::uint64_t sum(const Attempts& attempts) {
    return std::accumulate(attempts.begin(), attempts.end(), std::uint64_t{0});
}

static void grow(Attempts& to, const Attempts& by) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += by[i];
}

double LinkCounts::activity(const std::string& link, smtp::Monotonic now) const {
    const auto found = activity_.find(link);
    if (found == activity_.end()) return 0;
    const double lives = static_cast<double>((now - found->second.at).count()) / static_cast<double>(half_life.count());
    return found->second.value * std::exp2(-std::max(0.0, lives));
}

std::map<std::string, Attempts>::iterator LinkCounts::least_active(smtp::Monotonic now) {
    return std::ranges::min_element(named_, {}, [&](const auto& each) { return activity(each.first, now); });
}

void LinkCounts::limit(std::size_t most, smtp::Monotonic now) {
    most_ = most;
    while (named_.size() > most_) {
        const auto leaving = least_active(now);
        activity_.erase(leaving->first);
        named_.erase(leaving);
    }
}

// A new link must be twice as active as the one it replaces: names that come and go every minute are of no use.
bool LinkCounts::name(const NewAttempts& fresh, smtp::Monotonic now) {
    if (fresh.link.empty() || most_ == 0) return false;
    if (named_.contains(fresh.link)) return true;
    if (named_.size() == most_) {
        const auto leaving = least_active(now);
        if (static_cast<double>(sum(fresh.attempts)) < 2 * activity(leaving->first, now) + 1) return false;
        activity_.erase(leaving->first);
        named_.erase(leaving);
    }
    named_.try_emplace(fresh.link);
    return true;
}

void LinkCounts::add(std::vector<NewAttempts> fresh, smtp::Monotonic now) {
    std::ranges::stable_sort(fresh, std::ranges::greater(), [](const NewAttempts& each) { return sum(each.attempts); });
    for (const auto& each : fresh) {
        if (!name(each, now)) {
            grow(others_, each.attempts);
            continue;
        }
        grow(named_[each.link], each.attempts);
        const double before = activity(each.link, now);
        activity_[each.link] = {before + static_cast<double>(sum(each.attempts)), now};
    }
}

} // namespace metrics
