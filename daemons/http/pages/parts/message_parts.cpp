#include "daemons/http/pages/parts/message_parts.h"
#include "daemons/http/pages/parts/members.h"
#include <fmt/format.h>

namespace http::pages {

using html::element;
using html::Html;
using html::Url;
using nlohmann::json;

namespace {

constexpr std::int64_t shown_recipients = 2;

Html recipients_text(const json& message, std::string_view address) {
    Html out;
    std::int64_t count = 0;
    for (const auto& each : member(message, "recipients"))
        if (count < shown_recipients) out += html::join(count++ > 0 ? ", " : "", foreign(text_in(each, address)));
    if (const auto more = number_in(message, "recipients_total") - count; more > 0)
        out += fmt::format(" and {} more", count_text(more));
    return out;
}

Html sender_text(const json& message) {
    const auto sender = text_in(message, "sender");
    return sender.empty() ? Html("<>") : foreign(sender);
}

Html message_link(const std::string& id) { return id.empty() ? Html("–") : link_to(Url({"messages", id}), id); }

// Members of events that a line shows, in this order.
constexpr std::string_view shown_members[] = {"recipient",      "sender", "queue",  "link",         "host",
                                              "source_address", "code",   "status", "next_attempt", "who",
                                              "client",         "hook",   "lane"};

} // namespace

Table queued_messages(const json& messages, smtp::WallTime now) {
    std::vector<Row> rows;
    for (const auto& each : messages) {
        const auto& recipients = member(each, "recipients");
        const auto reason = recipients.empty() ? std::string() : text_in(recipients.front(), "reason");
        rows.push_back({message_link(text_in(each, "id")), text_in(each, "state"),
                        distance_to(text_in(each, "arrival"), now),
                        size_text(static_cast<std::uint64_t>(number_in(each, "size"))), sender_text(each),
                        recipients_text(each, "address"), foreign(text_in(each, "subject")),
                        reason.empty() ? Html() : verbatim(reason)});
    }
    return {"Messages in the queue",
            {"Id", "State", "Accepted", "Size#", "Sender", "Recipients", "Subject", "Reason"},
            std::move(rows)};
}

Table past_messages(const json& messages, smtp::WallTime now) {
    std::vector<Row> rows;
    for (const auto& each : messages) {
        const auto& recipients = member(each, "recipients");
        const auto reply = recipients.empty() ? std::string() : text_in(recipients.front(), "reply");
        const bool is_event = recipients.is_null();
        rows.push_back({message_link(text_in(each, "id")), is_event ? text_in(each, "type") : text_in(each, "outcome"),
                        distance_to(text_in(each, is_event ? "time" : "last_time"), now),
                        is_event ? Html() : sender_text(each), recipients_text(each, "recipient"),
                        reply.empty() ? Html() : verbatim(reply)});
    }
    return {
        "Messages in the history", {"Id", "Outcome", "Last event", "Sender", "Recipients", "Reply"}, std::move(rows)};
}

Html event_line(const json& event) {
    auto out = html::join(time_of(text_in(event, "time")), " ", element("strong", {}, text_in(event, "type")));
    if (const auto id = text_in(event, "id"); !id.empty()) out += html::join(" ", message_link(id));
    const auto& remote = member(event, "remote");
    for (const auto name : shown_members) {
        const auto& value = name == "host" ? member(remote, name) : member(event, name);
        if (value.is_string() && !value.get<std::string>().empty())
            out += html::join(" ", name, "=", foreign(value.get<std::string>()));
        else if (value.is_number_integer())
            out += html::join(" ", name, "=", value.get<std::int64_t>());
    }
    for (const auto* name : {"text", "why", "reason"})
        if (const auto text = text_in(event, name); !text.empty()) out += html::join(" ", verbatim(text));
    if (const auto tls = text_in(member(event, "tls"), "description"); !tls.empty())
        out += html::join(" ", foreign(tls));
    return element("span", {{"class", "event"}}, out);
}

Html timeline_of(const json& events) {
    Html items;
    for (const auto& each : events) items += element("li", {}, event_line(each));
    return element("ol", {{"class", "timeline"}}, items);
}

} // namespace http::pages
