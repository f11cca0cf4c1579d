#include "daemons/decide/hosts/host_order.h"
#include <algorithm>
#include <numeric>

namespace decide {

std::vector<std::size_t> host_order(const std::vector<Rank>& ranks, const Chance& chance) {
    std::vector<std::size_t> rest(ranks.size());
    std::iota(rest.begin(), rest.end(), std::size_t{0});
    for (std::size_t i = rest.size(); i > 1; --i) // equals in an order of chance
        std::swap(rest[i - 1], rest[chance(static_cast<std::uint32_t>(i - 1))]);
    std::ranges::stable_sort(rest, {}, [&](std::size_t i) { return std::pair(ranks[i].order(), ranks[i].weight > 0); });

    // RFC 2782: those without weight stand first, where they have only a small chance; then as the running sum
    // of weights says.
    std::vector<std::size_t> out;
    while (!rest.empty()) {
        const auto best = ranks[rest.front()].order();
        const auto equals = std::ranges::find_if(rest, [&](std::size_t i) { return ranks[i].order() != best; });
        std::uint32_t sum = 0;
        for (auto at = rest.begin(); at != equals; ++at) sum += ranks[*at].weight;
        const auto drawn = chance(sum);
        auto chosen = rest.begin();
        for (std::uint32_t running = ranks[*chosen].weight; running < drawn; running += ranks[*chosen].weight) ++chosen;
        out.push_back(*chosen);
        rest.erase(chosen);
    }
    return out;
}

} // namespace decide
