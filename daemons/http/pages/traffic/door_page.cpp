#include "daemons/http/pages/traffic/door_page.h"
#include "daemons/http/pages/parts/members.h"
#include "daemons/http/pages/parts/period.h"
#include <fmt/format.h>

namespace http::pages {

using html::Html;
using html::Url;
using nlohmann::json;

namespace {

constexpr std::string_view most_groups = "50"; // of a table

struct DoorTable {
    const char* member; // of the answer
    std::string_view title, column, nameless, type;
};

constexpr DoorTable door_tables[] = {
    {"rules", "Refusals by rule", "Rule", "none: relaying, or unknown recipients", "session.rejected"},
    {"networks", "Authentication failures by network", "Network", "not known", "auth.failed"},
    {"limits", "Limits that were hit", "Limit", "not known", "limit.hit"},
    {"filters", "Refusals by filters", "Filter", "not known", "milter.rejected"},
};

std::string events_left_out(const json& counted, std::string_view type) {
    for (const auto& each : member(member(counted, "types"), "groups"))
        if (text_in(each, "name") == type)
            if (const auto left_out = number_in(each, "left_out"); left_out > 0)
                return fmt::format("{} more of these were not recorded.", count_text(left_out));
    return {};
}

Html refusals_by(const DoorTable& kind, const json& counted) {
    const auto& summary = member(counted, kind.member);
    std::vector<Row> rows;
    for (const auto& each : member(summary, "groups")) {
        const auto name = text_in(each, "name");
        rows.push_back({name == "-" ? Html(kind.nameless) : foreign(name), count_text(number_in(each, "events"))});
    }
    auto out = heading(kind.title);
    const auto shown = static_cast<std::int64_t>(rows.size());
    out += rows.empty() ? note("None.") : table_of({kind.title, {kind.column, "Recorded events#"}, std::move(rows)});
    if (const auto total = number_in(summary, "groups_total"); total > shown)
        out += note(fmt::format("The {} with the most events are shown, of {}.", shown, count_text(total)));
    if (const auto left_out = events_left_out(counted, kind.type); !left_out.empty()) out += note(left_out);
    return out;
}

Html left_out_notice(const json& counted) {
    const auto left_out = number_in(counted, "left_out");
    if (left_out == 0) return note("All events of this time were recorded.");
    return warning(html::join(
        count_text(left_out, "event was", "events were"),
        " not recorded, because more came than history.door_events_per_second allows: they are missing in these "
        "tables."));
}

Html all_refusals(const json& counted) {
    Html out;
    for (const auto& kind : door_tables) out += refusals_by(kind, counted);
    return out;
}

void show_door(const std::shared_ptr<Page>& page) {
    const auto& period = period_named(page->parameter("since"));
    const bool patient = page->parameter("patient") == "yes";
    page->ask_while_wanted(
        {.method = "GET",
         .segments = {"v1", "door"},
         .parameters = {{"since", std::string(period.since)},
                        {"limit", std::string(most_groups)},
                        {"seconds", std::string(counting_time(patient))}}},
        [page, period, patient](const json& counted) {
            page->show({.title = fmt::format("Door: {}", period.title),
                        .section = "door",
                        .content = html::join(
                            period_choice("door", period), count_notice("door", period, counted, patient),
                            left_out_notice(counted), all_refusals(counted),
                            note(link_to(Url({"messages"}, {{"q", "type=*.rejected"}}), "The latest refusals"))),
                        .twin = fmt::format("GET /v1/door?since={}", period.since)});
        });
}

} // namespace

void add_door(PageRoutes& routes) { routes.get("/door", tokens::Scope::read, show_door); }

} // namespace http::pages
