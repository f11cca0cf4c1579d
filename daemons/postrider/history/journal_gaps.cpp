#include "daemons/postrider/history/journal_gaps.h"
#include "daemons/common/history/message_history.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace postrider {

void JournalGaps::add(std::uint64_t number) {
    ++events_;
    if (first_ == 0) {
        first_ = number;
    } else if (number > last_ + 1) {
        if (missing_.size() < most_ranges)
            missing_.push_back({last_ + 1, number - 1});
        else
            ++not_kept_;
    }
    last_ = std::max(last_, number);
}

void JournalGaps::add_named(const nlohmann::json& event) {
    const auto from = history::number_of(event, "from"), to = history::number_of(event, "to");
    if (from == 0 || to < from) return;
    if (named_.size() < most_ranges)
        named_.push_back({from, to});
    else
        ++not_kept_;
}

std::vector<NumberRange> JournalGaps::unnamed() const {
    auto named = named_;
    std::ranges::sort(named, {}, &NumberRange::from);
    std::vector<NumberRange> left;
    for (auto range : missing_) {
        for (const auto& each : named) {
            if (each.to < range.from) continue;
            if (each.from > range.to) break;
            if (each.from > range.from) left.push_back({range.from, each.from - 1});
            range.from = each.to + 1;
            if (range.from > range.to) break;
        }
        if (range.from <= range.to) left.push_back(range);
    }
    return left;
}

} // namespace postrider
