#include "daemons/http/pages/parts/limit_parts.h"
#include "daemons/http/pages/parts/members.h"
#include <fmt/format.h>

namespace http::pages {

using html::Html;
using html::Url;

namespace {

// In words.
std::string_view title_of(std::string_view limit) {
    constexpr std::pair<std::string_view, std::string_view> titles[] = {
        {"connections", "Connections"},
        {"connections_per_address", "Connections to one address"},
        {"connections_per_user", "Commands of one user"},
        {"connections_total", "Connections of all links"},
        {"link_share", "Share of these, while others wait: one in"},
        {"messages_per_connection", "Messages over one connection"},
        {"recipients_per_transaction", "Recipients of one transaction"},
        {"messages_per_second", "Messages per second"},
        {"messages_per_hour", "Messages per hour"},
        {"connections_per_second", "New connections per second"},
    };
    for (const auto& [name, title] : titles)
        if (name == limit) return title;
    return limit;
}

// The section of "route.\"example.org\".connections", with its key.
std::pair<std::string, std::string> parts_of(const std::string& setting) {
    const auto point = setting.rfind('.');
    if (point == setting.npos) return {setting, ""};
    return {setting.substr(0, point), setting.substr(point + 1)};
}

std::string origin_of(const nlohmann::json& settings, const std::string& section, const std::string& key) {
    for (const auto& each : member(settings, "settings"))
        if (text_in(each, "section") == section && text_in(each, "key") == key) return text_in(each, "origin");
    return "default";
}

} // namespace

Html limits_of_link(const nlohmann::json& link, const nlohmann::json& settings) {
    std::vector<Row> rows;
    for (const auto& each : member(link, "limits")) {
        const auto setting = text_in(each, "setting");
        const auto [section, key] = parts_of(setting);
        rows.push_back({title_of(text_in(each, "name")), count_text(number_in(each, "value")),
                        link_to(Url({"settings"}, {{"section", section}}), foreign(setting)),
                        foreign(origin_of(settings, section, key))});
    }
    if (rows.empty()) return {};
    return html::join(heading("Limits in force"),
                      table_of({"Limits of this link", {"Limit", "Value#", "Setting", "From"}, std::move(rows)}));
}

} // namespace http::pages
