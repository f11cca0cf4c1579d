#include "daemons/decide/outcome/source_choice.h"

namespace decide {

std::optional<std::size_t> choose_source(std::span<const SourceOption> options, std::uint64_t chance) {
    for (const auto wanted : {SourceState::ready, SourceState::backing_off}) {
        std::uint64_t total = 0;
        for (const auto& each : options)
            if (each.state == wanted) total += each.weight;
        if (total == 0) continue;
        auto left = chance % total;
        for (std::size_t i = 0; i < options.size(); ++i) {
            if (options[i].state != wanted) continue;
            if (left < options[i].weight) return i;
            left -= options[i].weight;
        }
    }
    return {};
}

} // namespace decide
