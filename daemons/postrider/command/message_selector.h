// Selects messages by queue ids or by words of the filter's grammar, as given on the command line, and makes the
// requests to the queue-manager. Pure.
#pragma once
#include <expected>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace postrider {

struct MessageSelector {
    std::vector<std::string> ids, filter; // one of them at most

    // Ids and filter words are distinguished by their form; both together are an error. "-" means `piped`. An error
    // is a line for the user.
    static std::expected<MessageSelector, std::string> parse(std::span<const std::string> words,
                                                             const std::vector<std::string>& piped = {});
    bool selects_all() const { return ids.empty() && filter.empty(); }
    // One request per max_ids_per_request ids: the length of a line to the queue-manager is limited.
    std::vector<nlohmann::json> requests(const nlohmann::json& base) const;
    static constexpr std::size_t max_ids_per_request = 1000;
};

} // namespace postrider
