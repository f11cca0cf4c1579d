#include "daemons/http/pages/traffic/senders_page.h"
#include "daemons/http/pages/parts/marks.h"
#include "daemons/http/pages/parts/members.h"
#include "daemons/http/pages/parts/period.h"
#include <fmt/format.h>

namespace http::pages {

using html::Html;
using html::Url;
using nlohmann::json;

namespace {

constexpr std::string_view most_rows = "50"; // of a table
constexpr std::int64_t enough_to_judge = 20; // recipients
constexpr double many_failures = 0.05, too_many_failures = 0.10;

// The words that find its mail; "": what it is called cannot be asked for.
std::string search_for(std::string_view key, const std::string& name) {
    if (name == "-" || name == "(others)" || name.ends_with("…")) return {};
    const char quote = name.contains('"') ? '\'' : '"';
    if (name.contains(quote)) return {};
    return fmt::format("{}={}{}{}", key, quote, name, quote);
}

Html name_cell(std::string_view key, const std::string& name) {
    if (name == "-") return key == "lane" ? "normal" : "none";
    if (key == "class") return foreign(name);
    const auto words = search_for(key, name);
    return words.empty() ? foreign(name) : link_to(Url({"messages"}, {{"q", words}}), foreign(name));
}

Html failure_share(std::int64_t delivered, std::int64_t failed) {
    const auto ended = delivered + failed;
    if (ended == 0) return "–";
    const auto share = static_cast<double>(failed) / static_cast<double>(ended);
    auto mark = Mark::none;
    if (ended >= enough_to_judge && share >= many_failures) mark = share >= too_many_failures ? Mark::bad : Mark::near;
    return marked(mark, fmt::format("{:.1f} %", 100 * share));
}

Html more_than(const json& summary, std::size_t shown) {
    const auto total = number_in(summary, "groups_total");
    if (total <= static_cast<std::int64_t>(shown)) return {};
    return note(fmt::format("The {} with the most events are shown, of {}.", shown, count_text(total)));
}

Html volume_by(std::string_view key, std::string_view title, const json& summary) {
    std::vector<Row> rows;
    for (const auto& each : member(summary, "groups")) {
        const auto delivered = number_in(each, "delivered"), failed = number_in(each, "failed");
        rows.push_back({name_cell(key, text_in(each, "name")), count_text(number_in(each, "accepted")),
                        count_text(delivered), count_text(number_in(each, "deferred")), count_text(failed),
                        failure_share(delivered, failed)});
    }
    if (rows.empty()) return html::join(heading(title), note("No mail."));
    const auto shown = rows.size();
    return html::join(heading(title),
                      table_of({title,
                                {"Name", "Messages#", "Delivered#", "Deferred attempts#", "Failed#", "Failure share#"},
                                std::move(rows)}),
                      more_than(summary, shown));
}

Html failures_by_class(const json& summary) {
    std::vector<Row> rows;
    for (const auto& each : member(summary, "groups"))
        rows.push_back({name_cell("class", text_in(each, "name")), count_text(number_in(each, "failed"))});
    if (rows.empty()) return {};
    return html::join(heading("Why recipients failed"),
                      table_of({"Failed recipients by class", {"Class", "Recipients#"}, std::move(rows)}));
}

void show_senders(const std::shared_ptr<Page>& page) {
    const auto& period = period_named(page->parameter("since"));
    const bool patient = page->parameter("patient") == "yes";
    page->ask_while_wanted(
        {.method = "GET",
         .segments = {"v1", "senders"},
         .parameters = {{"since", std::string(period.since)},
                        {"limit", std::string(most_rows)},
                        {"seconds", std::string(counting_time(patient))}}},
        [page, period, patient](const json& counted) {
            page->show({.title = fmt::format("Senders: {}", period.title),
                        .section = "senders",
                        .content = html::join(period_choice("senders", period),
                                              count_notice("senders", period, counted, patient),
                                              volume_by("submitter", "By submitter", member(counted, "submitters")),
                                              volume_by("pool", "By pool", member(counted, "pools")),
                                              volume_by("lane", "By lane", member(counted, "lanes")),
                                              failures_by_class(member(counted, "classes"))),
                        .twin = fmt::format("GET /v1/senders?since={}", period.since)});
        });
}

} // namespace

void add_senders(PageRoutes& routes) { routes.get("/senders", tokens::Scope::read, show_senders); }

} // namespace http::pages
