#include "daemons/http/pages/now_page.h"
#include "daemons/http/pages/parts/link_parts.h"
#include "daemons/http/pages/parts/members.h"
#include "daemons/http/pages/parts/parts.h"
#include "daemons/http/pages/parts/recent_parts.h"
#include <fmt/format.h>
#include <map>

namespace http::pages {

using html::element;
using html::Html;
using html::Url;
using nlohmann::json;

namespace {

// An element whose text the script replaces by this member of the status.
Html live(std::string_view member, std::string_view text) { return element("span", {{"data-member", member}}, text); }

Html works(std::string_view name, std::string_view yes, std::string_view no, const json& status) {
    const bool good = flag_in(status, name);
    const auto reason = text_in(status, fmt::format("{}_reason", name));
    return element("p", {{"class", good ? "state good" : "state bad"}}, element("strong", {}, good ? yes : no),
                   reason.empty() ? Html() : html::join(": ", foreign(reason)));
}

std::string rate_text(const json& rates, std::string_view name) {
    const auto& rate = member(rates, name);
    return fmt::format("{:.1f} per second", rate.is_number() ? rate.get<double>() : 0.0);
}

Html oldest(const json& status, smtp::WallTime now) {
    const auto& message = member(status, "oldest");
    const auto id = text_in(message, "id");
    if (id.empty()) return "–";
    return html::join(distance_to(text_in(message, "arrival"), now), " (", link_to(Url({"messages", id}), id), ")");
}

Html numbers(const json& status, smtp::WallTime now) {
    const auto& rates = member(status, "rates");
    const auto drain = number_in(status, "drain_seconds");
    return facts_of({{"Queued messages", live("messages", count_text(number_in(status, "messages")))},
                     {"Accepted", live("rates.in", rate_text(rates, "in"))},
                     {"Delivered", live("rates.out", rate_text(rates, "out"))},
                     {"Oldest message", oldest(status, now)},
                     {"Due deliveries", live("due", count_text(number_in(status, "due")))},
                     {"Due mail is sent in about", drain > 0 ? Html(span_text(std::chrono::seconds(drain))) : Html()},
                     {"Connections", live("connections", count_text(number_in(status, "connections")))}});
}

Html problems(const json& status) {
    Html items;
    for (const auto& each : member(status, "problems"))
        if (each.is_string()) items += element("li", {}, foreign(each.get<std::string>()));
    if (items.empty()) return {};
    return element("section", {}, heading("Problems"), element("ul", {{"class", "problems"}}, items));
}

Html by_state(const json& status) {
    std::vector<Row> rows;
    const auto& states = member(status, "states");
    for (const auto* state : {"due", "active", "retrying", "new", "routing", "scheduled", "held", "paused", "report"})
        if (const auto count = number_in(states, state); count > 0)
            rows.push_back({link_to(Url({"messages"}, {{"q", fmt::format("state={}", state)}}), state),
                            live(fmt::format("states.{}", state), count_text(count))});
    if (rows.empty()) return html::join(heading("Queue"), note("Nothing is queued."));
    return html::join(heading("Queue"), table_of({"Deliveries by state", {"State", "Deliveries#"}, std::move(rows)}));
}

Html pauses(const Page& page, const json& status) {
    std::vector<Row> rows;
    for (const auto& each : member(status, "pauses")) {
        const auto scope = text_in(each, "scope"), name = text_in(each, "name");
        Html what = scope;
        if (!name.empty()) what += html::join(" ", foreign(name));
        rows.push_back({what, foreign(text_in(each, "by")), foreign(text_in(each, "reason")),
                        distance_to(text_in(each, "since"), page.now()),
                        page.may(tokens::Scope::operate)
                            ? action_link(Url({"places", "resume"}, {{"scope", scope}, {"name", name}}), "Resume")
                            : Html()});
    }
    if (rows.empty()) return {};
    return html::join(heading("Paused"),
                      table_of({"Pauses", {"What", "By", "Why", "Since", "Action"}, std::move(rows)}));
}

Html links(const json& status) {
    const auto& shown = member(status, "links");
    if (shown.empty()) return {};
    auto out = html::join(heading("Links with mail"), table_of(links_table(shown)));
    const auto& others = member(status, "other_links");
    if (const auto count = number_in(others, "links"); count > 0)
        out += note(html::join(count_text(count, "other link has", "other links have"), " ",
                               count_text(number_in(others, "deliveries"), "delivery", "deliveries"), ". ",
                               link_to(Url({"links"}), "All links")));
    return out;
}

struct RemoteError {
    std::int64_t links = 0, deliveries = 0;
};

// Of the links that are shown: their last error, or what their mail waits for.
Html errors(const json& status) {
    std::map<std::string, RemoteError> errors;
    for (const auto* list : {"links", "unrouted"})
        for (const auto& each : member(status, list)) {
            auto text = text_in(each, "last_error");
            if (text.empty()) text = text_in(each, "waiting_for");
            if (text.empty()) continue;
            auto& error = errors[text];
            ++error.links;
            error.deliveries += number_in(each, "deliveries");
        }
    std::vector<std::pair<std::string, RemoteError>> sorted(errors.begin(), errors.end());
    std::ranges::sort(sorted, std::ranges::greater(), [](const auto& each) { return each.second.deliveries; });
    std::vector<Row> rows;
    for (const auto& [text, error] : sorted)
        rows.push_back({verbatim(text), count_text(error.links), count_text(error.deliveries)});
    if (rows.empty()) return {};
    return html::join(heading("Errors"),
                      table_of({"What mail waits for", {"Error", "Links#", "Deliveries#"}, std::move(rows)}));
}

Html unrouted(const json& status, smtp::WallTime now) {
    std::vector<Row> rows;
    for (const auto& each : member(status, "unrouted"))
        rows.push_back({foreign(text_in(each, "queue")), text_in(each, "gate"),
                        count_text(number_in(each, "deliveries")), distance_to(text_in(each, "next_attempt"), now),
                        verbatim(text_in(each, "waiting_for"))});
    if (rows.empty()) return {};
    return html::join(heading("Mail without a link"),
                      table_of({"Mail that waits where there is no link",
                                {"Domain", "Waits for", "Deliveries#", "Next attempt", "Reason"},
                                std::move(rows)}));
}

} // namespace

void show_now(const std::shared_ptr<Page>& page) {
    page->ask({.method = "GET", .segments = {"v1", "status"}}, [page](const json& status) {
        const auto now = page->now();
        auto content = html::join(works("accepting", "Mail is accepted", "Mail is not accepted", status),
                                  works("delivering", "Mail is delivered", "Mail is not delivered", status));
        if (flag_in(status, "loading")) content += warning("The spool is still being read: numbers are still rising.");
        content += html::join(problems(status), numbers(status, now));
        auto rest =
            html::join(by_state(status), pauses(*page, status), links(status), errors(status), unrouted(status, now));
        page->ask_any(
            {.method = "GET", .segments = {"v1", "recent"}},
            [page, now, content = std::move(content), rest = std::move(rest)](const ApiAnswer& recent) {
                page->show({.title = "Now",
                            .section = "now",
                            .content = html::join(content, traffic_of(recent.body), rest, changes_of(recent.body, now)),
                            .twin = "GET /v1/status and GET /v1/recent",
                            .live = true});
            });
    });
}

} // namespace http::pages
