#include "daemons/http/pages/events_page.h"
#include "daemons/http/pages/parts/members.h"
#include "daemons/http/pages/parts/message_parts.h"
#include <algorithm>

namespace http::pages {

using html::element;
using html::Html;
using html::Url;
using nlohmann::json;

namespace {

constexpr std::size_t most_events = 100;

// Newest first, of the messages that had events last.
std::vector<json> latest_events(const json& messages) {
    std::vector<json> events;
    for (const auto& each : messages) {
        if (each.contains("events"))
            for (const auto& event : each["events"]) events.push_back(event);
        else
            events.push_back(each);
    }
    std::ranges::sort(events, std::ranges::greater(), [](const json& event) { return number_in(event, "seq"); });
    if (events.size() > most_events) events.resize(most_events);
    return events;
}

void show_events(const std::shared_ptr<Page>& page) {
    web::Fields query = {{"filter", "since=15m"}, {"limit", "50"}, {"events", "true"}};
    page->ask({.method = "GET", .segments = {"v1", "history"}, .parameters = std::move(query)}, [page](
                                                                                                    const json& found) {
        const auto events = latest_events(member(found, "messages"));
        Html items;
        for (const auto& each : events) items += element("li", {}, event_line(each));
        const auto after = events.empty() ? std::string() : std::to_string(number_in(events.front(), "seq"));
        auto content =
            html::join(element("p", {{"class", "note"}, {"id", "following"}, {"role", "status"}},
                               "Events of the last 15 minutes, newest first."),
                       element("ol", {{"class", "timeline"}, {"id", "events"}, {"data-after", after}}, items));
        page->show({.title = "Events", .section = "events", .content = std::move(content), .twin = "GET /v1/events"});
    });
}

} // namespace

void add_events(PageRoutes& routes) { routes.get("/events", tokens::Scope::read, show_events); }

} // namespace http::pages
