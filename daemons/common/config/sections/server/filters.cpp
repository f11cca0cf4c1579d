#include "daemons/common/config/sections/server/filters.h"
#include "daemons/common/lookup/format/header_checks.h"
#include "daemons/decide/routing/filter_destination.h"
#include <algorithm>

namespace config {

bool Milter::applies_to(std::string_view listener) const {
    return listeners.empty() || std::ranges::find(listeners, listener) != listeners.end();
}

bool Milter::applies_to_local() const { return std::ranges::find(listeners, local_submissions) != listeners.end(); }

std::vector<std::pair<std::string, std::string>> Content::filters() const {
    using common::HeaderChecks;
    std::vector<std::pair<std::string, std::string>> out;
    const auto add = [&](std::string_view key, const std::vector<std::string>& rules, HeaderChecks::Use use) {
        const auto read = HeaderChecks::parse(rules, use);
        for (const auto& filter : read ? read->filters() : std::vector<std::string>{}) {
            const auto route = decide::route_of_filter(filter);
            if (!route.empty()) out.emplace_back(key, route);
            const auto hop =
                route.empty() ? std::string_view(filter) : std::string_view(filter).substr(route.size() + 1);
            if (!hop.empty()) out.emplace_back(key, hop);
        }
    };
    add("content.header_checks", header_checks, HeaderChecks::Use::header);
    add("content.mime_header_checks", mime_header_checks, HeaderChecks::Use::header);
    add("content.nested_header_checks", nested_header_checks, HeaderChecks::Use::header);
    add("content.body_checks", body_checks, HeaderChecks::Use::body);
    return out;
}

} // namespace config
