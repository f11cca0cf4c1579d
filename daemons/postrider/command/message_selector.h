// Which messages a verb is for: queue ids, or words of the filter's grammar, as the command line gives them;
// and the questions to the queue-manager that follow. Pure.
#pragma once
#include <expected>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace postrider {

struct Choice {
    std::vector<std::string> ids, filter; // one of them at most

    // Ids are told from filter words by their form; both together make no sense. "-" stands for `piped`. An
    // error is a line for the user.
    static std::expected<Choice, std::string> parse(std::span<const std::string> words,
                                                    const std::vector<std::string>& piped = {});
    bool everything() const { return ids.empty() && filter.empty(); }
    // One request per so many ids: a line to the queue-manager is bounded.
    std::vector<nlohmann::json> requests(const nlohmann::json& base) const;
    static constexpr std::size_t ids_at_a_time = 1000;
};

} // namespace postrider
