#include "daemons/smtpd/access/session_eviction.h"
#include <algorithm>
#include <unordered_map>

namespace smtpd {

using Activity = SessionInfo::Activity;

std::vector<std::size_t> sessions_to_evict(std::span<const SessionInfo> all, std::string_view newcomer,
                                           std::size_t most, smtp::Monotonic now, smtp::Duration grace) {
    std::vector<std::size_t> chosen;
    std::unordered_map<std::string_view, std::size_t> sessions; // of each network
    const auto choose = [&](auto&& suits) {
        for (std::size_t i = 0; i < all.size(); ++i)
            if (suits(all[i])) chosen.push_back(i);
        return !chosen.empty();
    };
    const auto first_ones = [&](auto&& before) {
        const auto wanted = std::min(most, chosen.size());
        std::ranges::partial_sort(chosen, chosen.begin() + static_cast<long>(wanted),
                                  [&](auto a, auto b) { return before(all[a], all[b]); });
        chosen.resize(wanted);
        return std::move(chosen);
    };
    const auto least_recent = [](const SessionInfo& a, const SessionInfo& b) {
        return a.last_activity < b.last_activity;
    };

    if (choose([](const auto& o) { return o.activity == Activity::closing; })) return first_ones(least_recent);

    for (const auto& session_info : all) ++sessions[session_info.network];
    const auto has = sessions[newcomer];
    if (choose(
            [&](const auto& o) { return o.activity != Activity::awaiting_reply && sessions[o.network] > has + 1; })) {
        auto largest = first_ones([&](const SessionInfo& a, const SessionInfo& b) {
            const auto of_a = sessions[a.network], of_b = sessions[b.network];
            if (of_a != of_b) return of_a > of_b;
            if (a.network != b.network) return a.network < b.network;
            if (a.activity != b.activity) return a.activity < b.activity;
            return a.last_activity < b.last_activity;
        });
        // Down to what the newcomer's will have, no further.
        std::erase_if(largest, [&](auto i) {
            auto& left = sessions[all[i].network];
            return left <= has + 1 || left-- == 0;
        });
        return largest;
    }

    choose([&](const auto& o) {
        return o.activity == Activity::idle && sessions[o.network] >= has && now - o.last_activity >= grace;
    });
    return first_ones(least_recent);
}

} // namespace smtpd
