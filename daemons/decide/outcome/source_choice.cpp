#include "daemons/decide/outcome/source_choice.h"

namespace decide {

std::optional<std::size_t> choose_source(std::span<const SourceOption> options, std::uint64_t chance) {
    for (const auto wanted : {Standing::ready, Standing::resting}) {
        std::uint64_t total = 0;
        for (const auto& each : options)
            if (each.standing == wanted) total += each.weight;
        if (total == 0) continue;
        auto left = chance % total;
        for (std::size_t i = 0; i < options.size(); ++i) {
            if (options[i].standing != wanted) continue;
            if (left < options[i].weight) return i;
            left -= options[i].weight;
        }
    }
    return {};
}

} // namespace decide
