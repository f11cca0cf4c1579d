#include "daemons/http/pages/links_page.h"
#include "daemons/http/pages/parts/limit_parts.h"
#include "daemons/http/pages/parts/link_parts.h"
#include "daemons/http/pages/parts/members.h"
#include <fmt/format.h>

namespace http::pages {

using html::element;
using html::Html;
using html::Url;
using nlohmann::json;
using tokens::Scope;

namespace {

void show_links(const std::shared_ptr<Page>& page) {
    web::Fields part = {{"after", page->parameter("after")}};
    page->ask({.method = "GET", .segments = {"v1", "links"}, .parameters = std::move(part)},
              [page](const json& answer) {
                  const auto& links = member(answer, "links");
                  std::optional<Url> first, next;
                  if (!page->parameter("after").empty()) first = Url({"links"});
                  if (const auto after = text_in(answer, "next"); !after.empty())
                      next = Url({"links"}, {{"after", after}});
                  page->show({.title = "Links",
                              .section = "links",
                              .content = html::join(links.empty() ? note("No link has mail or connections.")
                                                                  : table_of(links_table(links)),
                                                    pager(first, next)),
                              .twin = "GET /v1/links"});
              });
}

Html optional(const std::string& text) { return text.empty() ? Html() : verbatim(text); }

Html link_facts(const json& link, smtp::WallTime now) {
    const auto limit = number_in(link, "limit"), transaction = number_in(link, "transaction_ms");
    const auto failures = number_in(link, "failures");
    return facts_of({{"State", html::join(text_in(link, "state"), flag_in(link, "paused") ? ", paused" : "")},
                     {"Kind", text_in(link, "kind")},
                     {"Pool", foreign(text_in(link, "pool"))},
                     {"Due", count_text(number_in(link, "due"))},
                     {"In flight", count_text(number_in(link, "in_flight"))},
                     {"Waiting", count_text(number_in(link, "waiting"))},
                     {"Oldest message", distance_to(text_in(link, "oldest"), now)},
                     {"Connections", limit > 0 ? fmt::format("{} of {}", number_in(link, "connections"), limit)
                                               : count_text(number_in(link, "connections"))},
                     {"Window", count_text(number_in(link, "window"))},
                     {"One delivery takes", transaction > 0 ? Html(fmt::format("{} ms", transaction)) : Html()},
                     {"Failures in a row", failures > 0 ? Html(count_text(failures)) : Html()},
                     {"Failing since", failures > 0 ? distance_to(text_in(link, "failing_since"), now) : Html()},
                     {"Next attempt", failures > 0 ? distance_to(text_in(link, "next_attempt"), now) : Html()},
                     {"Last error", optional(text_in(link, "last_error"))},
                     {"Its mail waits for", optional(text_in(link, "waiting_for"))},
                     {"Idle because", optional(text_in(link, "idle_reason"))}});
}

Html addresses(const json& link) {
    std::vector<Row> rows;
    for (const auto& each : member(link, "addresses"))
        rows.push_back({foreign(text_in(each, "address")), count_text(number_in(each, "this_link")),
                        count_text(number_in(each, "connections")), count_text(number_in(each, "limit"))});
    if (rows.empty()) return {};
    return html::join(
        heading("Addresses"),
        table_of({"Connections by address", {"Address", "Of this link#", "Of all links#", "Limit#"}, std::move(rows)}));
}

Html backing_off(const json& link, smtp::WallTime now) {
    std::vector<Row> rows;
    for (const auto& each : member(link, "backing_off"))
        rows.push_back({foreign(text_in(each, "source")), distance_to(text_in(each, "until"), now),
                        verbatim(text_in(each, "reason"))});
    if (rows.empty()) return {};
    return html::join(
        heading("Sources that back off"),
        table_of({"Our addresses that this site rejected", {"Source", "Until", "Reason"}, std::move(rows)}));
}

Html failures_of(const json& link, smtp::WallTime now) {
    std::vector<Row> rows;
    for (const auto& each : member(link, "history"))
        rows.push_back({distance_to(text_in(each, "time"), now), text_in(each, "phase"), text_in(each, "status"),
                        verbatim(text_in(each, "text"))});
    if (rows.empty()) return {};
    return html::join(heading("Last errors"),
                      table_of({"Failed connections", {"Time", "Phase", "Status", "Error"}, std::move(rows)}));
}

Html queues_of(const Page& page, const std::string& name, const json& link) {
    const auto& all = member(link, "queues_of_link");
    if (all.empty()) return {};
    std::vector<Row> rows;
    for (const auto& each : all) {
        const auto queue = text_in(each, "queue");
        Html state = text_in(each, "state");
        if (flag_in(each, "paused")) state += ", paused";
        rows.push_back({link_to(Url({"messages"}, {{"q", "domain=" + queue}}), foreign(queue)), state,
                        count_text(number_in(each, "deliveries")), count_text(number_in(each, "due")),
                        distance_to(text_in(each, "oldest"), page.now()), optional(text_in(each, "last_error"))});
    }
    std::optional<Url> first, next;
    if (!page.parameter("after").empty()) first = Url({"links", name});
    if (const auto after = text_in(link, "next"); !after.empty()) next = Url({"links", name}, {{"after", after}});
    return html::join(heading("Queues"),
                      table_of({"Queues of this link",
                                {"Queue", "State", "Deliveries#", "Due#", "Oldest message", "Last error"},
                                std::move(rows)}),
                      pager(first, next));
}

void show_link(const std::shared_ptr<Page>& page) {
    const auto name = page->call().value(0);
    web::Fields part = {{"after", page->parameter("after")}}; // of its queues
    page->ask(
        {.method = "GET", .segments = {"v1", "links", name}, .parameters = std::move(part)},
        [page, name](const json& link) {
            page->ask({.method = "GET", .segments = {"v1", "settings"}}, [page, name, link](const json& settings) {
                const auto now = page->now();
                Html actions = link_to(Url({"messages"}, {{"q", "link=" + name}}), "Its messages");
                if (page->may(Scope::operate)) {
                    const Url::Parameters place = {{"scope", "link"}, {"name", name}};
                    actions += flag_in(link, "paused") ? action_link(Url({"places", "resume"}, place), "Resume")
                                                       : action_link(Url({"places", "pause"}, place), "Pause");
                    actions += action_link(Url({"places", "force"}, place), "Retry now");
                }
                page->show(
                    {.title = fmt::format("Link {}", name),
                     .section = "links",
                     .content = html::join(link_facts(link, now), element("div", {{"class", "actions"}}, actions),
                                           limits_of_link(link, settings), addresses(link), backing_off(link, now),
                                           failures_of(link, now), queues_of(*page, name, link)),
                     .twin = fmt::format("GET /v1/links/{}", name)});
            });
        });
}

} // namespace

void add_links(PageRoutes& routes) {
    routes.get("/links", Scope::read, show_links);
    routes.get("/links/{name}", Scope::read, show_link);
}

} // namespace http::pages
