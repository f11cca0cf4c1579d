#include "daemons/smtpd/access/session_eviction.h"
#include <algorithm>
#include <unordered_map>

namespace smtpd {

using Doing = Occupant::Doing;

std::vector<std::size_t> who_gives_way(std::span<const Occupant> all, std::string_view newcomer,
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
    const auto least_heard = [](const Occupant& a, const Occupant& b) { return a.heard < b.heard; };

    if (choose([](const auto& o) { return o.doing == Doing::leaving; })) return first_ones(least_heard);

    for (const auto& occupant : all) ++sessions[occupant.network];
    const auto has = sessions[newcomer];
    if (choose([&](const auto& o) { return o.doing != Doing::asking && sessions[o.network] > has + 1; })) {
        auto largest = first_ones([&](const Occupant& a, const Occupant& b) {
            const auto of_a = sessions[a.network], of_b = sessions[b.network];
            if (of_a != of_b) return of_a > of_b;
            if (a.network != b.network) return a.network < b.network;
            if (a.doing != b.doing) return a.doing < b.doing;
            return a.heard < b.heard;
        });
        // Down to what the newcomer's will have, no further.
        std::erase_if(largest, [&](auto i) {
            auto& left = sessions[all[i].network];
            return left <= has + 1 || left-- == 0;
        });
        return largest;
    }

    choose([&](const auto& o) {
        return o.doing == Doing::waiting && sessions[o.network] >= has && now - o.heard >= grace;
    });
    return first_ones(least_heard);
}

} // namespace smtpd
