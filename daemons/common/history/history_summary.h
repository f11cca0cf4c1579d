// Counts of events by class, link, day, submitter, pool, lane, domain, reply, type, rule, limit, or network of the
// client. Pure.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace history {

class HistorySummary {
public:
    static constexpr std::array<std::string_view, 12> groupings = {
        "class", "link", "day", "submitter", "pool", "lane", "domain", "reply", "type", "rule", "limit", "network"};
    // Further groups are counted together.
    static constexpr std::size_t most_groups = 10'000;

    struct Counts {
        std::uint64_t accepted = 0, delivered = 0, deferred = 0, failed = 0, other = 0;
        std::uint64_t left_out = 0; // before these, because there were too many
        std::uint64_t total() const { return accepted + delivered + deferred + failed + other; }
    };

    // Nothing: `by` is none of the groupings.
    static std::optional<HistorySummary> parse(std::string_view by);
    void add(const nlohmann::json& event);

    // The busiest groups first; days in their order, the last one first.
    std::vector<std::pair<std::string, Counts>> sorted(std::size_t limit) const;
    // Of a group, whose name is the member `name`.
    static nlohmann::json to_json(std::string_view name, const std::string& group, const Counts& counts);
    nlohmann::json to_json(std::size_t limit) const;
    std::size_t groups_total() const { return groups_.size(); }
    bool empty() const { return groups_.empty(); }
    const std::string& by() const { return by_; }

private:
    explicit HistorySummary(std::string by) : by_(std::move(by)) {}
    std::string group_of(const nlohmann::json& event) const;

    std::string by_;
    std::map<std::string, Counts> groups_;
};

} // namespace history
