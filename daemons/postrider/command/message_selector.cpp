#include "daemons/postrider/command/message_selector.h"
#include "libspool/format/queue_id.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace postrider {

std::expected<MessageSelector, std::string> MessageSelector::parse(std::span<const std::string> words,
                                                                   const std::vector<std::string>& piped) {
    MessageSelector out;
    const auto take = [&](const std::string& word) {
        const auto id = spool::QueueId::parse(word);
        if (id)
            out.ids.push_back(id->text());
        else
            out.filter.push_back(word);
    };
    for (const auto& word : words)
        if (word == "-") {
            for (const auto& each : piped) {
                if (!spool::QueueId::parse(each))
                    return std::unexpected(fmt::format("standard input has \"{}\", which is not a queue id", each));
                take(each);
            }
        } else {
            take(word);
        }
    const bool piped_none = std::ranges::find(words, "-") != words.end() && out.ids.empty();
    if (piped_none) return std::unexpected("no queue ids on standard input");
    if (!out.ids.empty() && !out.filter.empty())
        return std::unexpected(fmt::format(
            "\"{}\" is not a queue id; name messages by their ids or by filter words, not by both", out.filter[0]));
    return out;
}

std::vector<nlohmann::json> MessageSelector::requests(const nlohmann::json& base) const {
    std::vector<nlohmann::json> out;
    if (ids.empty()) {
        out.push_back(base);
        if (!filter.empty()) out.back()["filter"] = filter;
        return out;
    }
    for (std::size_t at = 0; at < ids.size(); at += max_ids_per_request) {
        out.push_back(base);
        const auto end = std::min(ids.size(), at + max_ids_per_request);
        out.back()["ids"] = std::vector<std::string>(ids.begin() + static_cast<std::ptrdiff_t>(at),
                                                     ids.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return out;
}

} // namespace postrider
