// Counts of events by class, link, day, submitter, domain or reply. Pure.
#pragma once
#include "daemons/common/terminal/text.h"
#include <cstdint>
#include <expected>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace postrider {

class HistorySummary {
public:
    // Further groups are counted together.
    static constexpr std::size_t most_groups = 10'000;

    // "class" or "by=class". The error is a line for the user.
    static std::expected<HistorySummary, std::string> parse(std::string_view text);
    void add(const nlohmann::json& event);

    // The busiest groups first; days in their order.
    std::string text(std::size_t limit, std::size_t width) const;
    nlohmann::json to_json(std::size_t limit) const;
    bool empty() const { return groups_.empty(); }

private:
    struct Counts {
        std::uint64_t delivered = 0, deferred = 0, failed = 0, other = 0;
        std::uint64_t total() const { return delivered + deferred + failed + other; }
    };
    explicit HistorySummary(std::string by) : by_(std::move(by)) {}
    std::vector<std::pair<std::string, Counts>> sorted(std::size_t limit) const;
    std::string group_of(const nlohmann::json& event) const;

    std::string by_;
    std::map<std::string, Counts> groups_;
};

} // namespace postrider
