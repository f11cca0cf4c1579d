#include "daemons/http/pages/parts/link_parts.h"
#include "daemons/http/pages/parts/members.h"

namespace http::pages {

using html::Html;
using html::Url;

Row link_row(const nlohmann::json& link) {
    const auto name = text_in(link, "link");
    Html state = text_in(link, "state");
    if (flag_in(link, "paused")) state += ", paused";
    auto why = text_in(link, "last_error");
    if (why.empty()) why = text_in(link, "waiting_for");
    if (why.empty()) why = text_in(link, "idle_reason");
    return {link_to(Url({"links", name}), foreign(name)), state,
            count_text(number_in(link, "due")),           count_text(number_in(link, "waiting")),
            count_text(number_in(link, "in_flight")),     count_text(number_in(link, "connections")),
            why.empty() ? Html() : verbatim(why)};
}

Table links_table(std::vector<Row> rows) {
    return {"Links", {"Link", "State", "Due#", "Waiting#", "In flight#", "Connections#", "Reason"}, std::move(rows)};
}

Table links_table(const nlohmann::json& links) {
    std::vector<Row> rows;
    for (const auto& each : links) rows.push_back(link_row(each));
    return links_table(std::move(rows));
}

} // namespace http::pages
