#include "daemons/common/history/history_summary.h"
#include "daemons/common/history/history_query.h"
#include "daemons/common/history/message_history.h"
#include "daemons/common/net/network.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace history {

using nlohmann::json;

namespace {

constexpr std::string_view all_others = "(others)", none = "-";
constexpr std::size_t day_length = 10, longest_group = 200;

std::string shortened(std::string text) {
    if (text.size() <= longest_group) return text;
    auto end = longest_group;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end; // not inside a character
    text.resize(end);
    return text + "…";
}

// An IPv4 /24 or an IPv6 /64, as authentication failures are limited.
std::string network_of(const json& event) {
    constexpr int v4_bits = 120, v6_bits = 64; // of 128
    const auto client = event.find("client");
    if (client == event.end() || !client->is_object()) return {};
    const auto address = common::IpAddress::parse(string_of(*client, "address"));
    if (!address) return {};
    common::Network network{*address, address->is_v4() ? v4_bits : v6_bits};
    for (auto byte = static_cast<std::size_t>(network.bits / 8); byte < network.base.bytes.size(); ++byte)
        network.base.bytes[byte] = 0;
    return network.to_string();
}

} // namespace

std::optional<HistorySummary> HistorySummary::parse(std::string_view by) {
    if (std::ranges::find(groupings, by) == groupings.end()) return {};
    return HistorySummary(std::string(by));
}

std::string HistorySummary::group_of(const json& event) const {
    std::string group;
    if (by_ == "day") {
        group = string_of(event, "time").substr(0, day_length);
    } else if (by_ == "domain") {
        const auto recipients = recipients_of(event);
        if (!recipients.empty()) group = domain_of(recipients.front());
    } else if (by_ == "reply") {
        group = reply_of(event);
    } else if (by_ == "network") {
        group = network_of(event);
    } else {
        group = string_of(event, by_);
    }
    return group.empty() ? std::string(none) : shortened(std::move(group));
}

void HistorySummary::add(const json& event) {
    auto group = group_of(event);
    if (groups_.size() >= most_groups && !groups_.contains(group)) group = all_others;
    auto& counts = groups_[std::move(group)];
    const auto type = string_of(event, "type");
    counts.left_out += number_of(event, "sampled");
    if (type == "journal.gap") counts.left_out += number_of(event, "count");
    if (type == "message.accepted")
        ++counts.accepted;
    else if (type == "message.delivered")
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

json HistorySummary::to_json(std::string_view name, const std::string& group, const Counts& counts) {
    json out = {{"events", counts.total()},    {"accepted", counts.accepted}, {"delivered", counts.delivered},
                {"deferred", counts.deferred}, {"failed", counts.failed},     {"left_out", counts.left_out}};
    out[std::string(name)] = group;
    return out;
}

json HistorySummary::to_json(std::size_t limit) const {
    json rows = json::array();
    for (const auto& [group, counts] : sorted(limit)) rows.push_back(to_json(by_, group, counts));
    return {{"version", 1}, {"by", by_}, {"groups", std::move(rows)}, {"groups_total", groups_.size()}};
}

} // namespace history
