#include "daemons/postrider/history/history_summary.h"
#include "daemons/common/history/history_query.h"
#include "daemons/common/history/message_history.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace postrider {

using history::string_of;
using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 7> groupings = {"class", "link", "day", "submitter", "domain", "reply", "type"};
constexpr std::string_view all_others = "(others)", none = "-";
constexpr std::size_t day_length = 10, longest_group = 200;

} // namespace

std::expected<HistorySummary, std::string> HistorySummary::parse(std::string_view text) {
    constexpr std::string_view prefix = "by=";
    const auto by = text.starts_with(prefix) ? text.substr(prefix.size()) : text;
    if (std::ranges::find(groupings, by) == groupings.end())
        return std::unexpected(fmt::format("--summary {}: expected by={}", text, fmt::join(groupings, ", by=")));
    return HistorySummary(std::string(by));
}

std::string HistorySummary::group_of(const json& event) const {
    std::string group;
    if (by_ == "day") {
        group = string_of(event, "time").substr(0, day_length);
    } else if (by_ == "domain") {
        const auto recipients = history::recipients_of(event);
        if (!recipients.empty()) group = history::domain_of(recipients.front());
    } else if (by_ == "reply") {
        group = truncated(history::reply_of(event), longest_group);
    } else {
        group = string_of(event, by_);
    }
    return group.empty() ? std::string(none) : group;
}

void HistorySummary::add(const json& event) {
    auto group = group_of(event);
    if (groups_.size() >= most_groups && !groups_.contains(group)) group = all_others;
    auto& counts = groups_[std::move(group)];
    const auto type = string_of(event, "type");
    if (type == "message.delivered")
        ++counts.delivered;
    else if (type == "message.deferred")
        ++counts.deferred;
    else if (type == "message.failed" || type == "message.expired" || type == "message.suppressed")
        ++counts.failed;
    else
        ++counts.other;
}

std::vector<std::pair<std::string, HistorySummary::Counts>> HistorySummary::sorted(std::size_t limit) const {
    std::vector<std::pair<std::string, Counts>> rows(groups_.begin(), groups_.end());
    if (by_ == "day")
        std::ranges::reverse(rows);
    else
        std::ranges::stable_sort(rows, std::ranges::greater(), [](const auto& row) { return row.second.total(); });
    if (rows.size() > limit) rows.resize(limit);
    return rows;
}

std::string HistorySummary::text(std::size_t limit, std::size_t width) const {
    Table table({">Events", ">Delivered", ">Deferred", ">Failed", by_});
    for (const auto& [group, counts] : sorted(limit))
        table.row({fmt::format("{}", counts.total()), fmt::format("{}", counts.delivered),
                   fmt::format("{}", counts.deferred), fmt::format("{}", counts.failed), group});
    return table.text(width);
}

json HistorySummary::to_json(std::size_t limit) const {
    json rows = json::array();
    for (const auto& [group, counts] : sorted(limit))
        rows.push_back({{by_, group},
                        {"events", counts.total()},
                        {"delivered", counts.delivered},
                        {"deferred", counts.deferred},
                        {"failed", counts.failed}});
    return {{"version", 1}, {"by", by_}, {"groups", std::move(rows)}, {"groups_total", groups_.size()}};
}

} // namespace postrider
