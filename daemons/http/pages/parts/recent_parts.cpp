#include "daemons/http/pages/parts/recent_parts.h"
#include "daemons/http/pages/parts/members.h"
#include "daemons/http/pages/parts/sparkline.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace http::pages {

using html::element;
using html::Html;
using html::Url;
using nlohmann::json;

namespace {

struct ChangeText {
    std::string_view type, text;
};
constexpr ChangeText change_texts[] = {
    {"started", "The queue-manager started: what was before is in the journal"},
    {"config.reloaded", "A new configuration is in force"},
    {"link.failed", "A link backs off"},
    {"link.recovered", "A link works again"},
    {"link.down", "A link is down: its mail takes another route"},
    {"link.up", "A link is up again"},
    {"routes.reset", "Routes were determined again"},
    {"pause.set", "Paused"},
    {"pause.cleared", "Resumed"},
    {"problem.appeared", "A problem"},
    {"problem.gone", "No longer a problem"},
    {"suppression.added", "Suppressed recipients"},
    {"suppression.removed", "Recipients no longer suppressed"},
};

std::string text_of_change(const std::string& type) {
    const auto* known = std::ranges::find(change_texts, type, &ChangeText::type);
    return known == std::end(change_texts) ? type : std::string(known->text);
}

Html object_of(const std::string& type, const std::string& name) {
    if (name.empty()) return {};
    if (type.starts_with("link.")) return link_to(Url({"links", name}), foreign(name));
    return type.starts_with("problem.") ? verbatim(name) : foreign(name);
}

Html line_of(const json& recent, std::string_view name, std::string_view title) {
    std::vector<std::int64_t> numbers;
    for (const auto& each : member(recent, name))
        numbers.push_back(each.is_number_integer() ? each.get<std::int64_t>() : 0);
    if (numbers.size() < 2) return {};
    const auto sum = std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
    const auto most = *std::ranges::max_element(numbers);
    const auto text =
        fmt::format("{} in {}, at most {} in one minute", count_text(sum, "message", "messages"),
                    count_text(static_cast<std::int64_t>(numbers.size()), "minute", "minutes"), count_text(most));
    return element("figure", {}, sparkline(numbers, fmt::format("{}: {}", title, text)),
                   element("figcaption", {}, element("strong", {}, title), " ", text));
}

} // namespace

Html traffic_of(const json& recent) {
    const auto lines = html::join(line_of(recent, "in", "Accepted"), line_of(recent, "out", "Delivered or finished"));
    return lines.empty() ? Html() : element("div", {{"class", "figures"}}, lines);
}

Html changes_of(const json& recent, smtp::WallTime now) {
    std::vector<Row> rows;
    for (const auto& each : member(recent, "changes")) {
        const auto type = text_in(each, "type");
        const auto count = number_in(each, "count");
        const auto who = text_in(each, "who"), why = text_in(each, "why");
        rows.push_back({distance_to(text_in(each, "time"), now), text_of_change(type),
                        object_of(type, text_in(each, "name")), count > 1 ? Html(count_text(count)) : Html(),
                        who.empty() ? Html() : foreign(who), why.empty() ? Html() : verbatim(why)});
    }
    if (rows.empty()) return {};
    auto out =
        html::join(heading("The last hour"),
                   table_of({"What has changed", {"When", "What", "Where", "Times#", "By", "Why"}, std::move(rows)}));
    if (const auto more = number_in(recent, "left_out"); more > 0)
        out += note(fmt::format("{}: the journal has them.",
                                count_text(more, "earlier change is left out", "earlier changes are left out")));
    return out;
}

} // namespace http::pages
