#include "daemons/common/submission/pool_choice.h"
#include "daemons/common/submission/address_map.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace common {

PoolRules::PoolRules(const std::vector<config::Pool>& pools, const config::Pools& by_sender, std::string delimiter)
    : choice(by_sender), recipient_delimiter(std::move(delimiter)) {
    for (const auto& pool : pools) names.push_back(pool.name);
}

std::string choose_pool(const PoolRules& rules, Submitter submitter, std::string_view asked,
                        spool::Envelope& envelope) {
    envelope.pool.clear();
    if (submitter == Submitter::stranger) return "";
    if (!asked.empty()) {
        if (std::ranges::find(rules.names, asked) == rules.names.end())
            return fmt::format("{}: there is no pool \"{}\"", control_fields[pool_field], smtp::printable(asked, 64));
        envelope.pool = asked;
        envelope.pool_chosen_by = control_fields[pool_field];
    } else if (const auto* by_sender =
                   find_by_address(rules.choice.by_sender, envelope.reverse_path, rules.recipient_delimiter)) {
        envelope.pool = *by_sender;
        envelope.pool_chosen_by = "pools.by_sender";
    }
    return "";
}

} // namespace common
