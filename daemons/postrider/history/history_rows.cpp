#include "daemons/postrider/history/history_rows.h"
#include "daemons/common/history/history_query.h"
#include "libsmtp/text/date.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace postrider {

using history::number_of;
using history::string_of;
using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 3> attempt_types = {"message.delivered", "message.deferred", "message.failed"};
constexpr std::size_t time_without_fraction = 19; // characters of an RFC 3339 time

std::string sender_text(const std::string& sender) { return sender.empty() ? "<>" : sender; }

std::string recipients_text(const history::MessageHistory& message) {
    if (message.recipients().empty()) return "-";
    const auto more = message.recipients_total() - 1;
    return message.recipients().front().address + (more == 0 ? "" : fmt::format(" +{}", more));
}

std::string clock_text(const std::string& time) { return time_text(event_seconds(time)); }

std::string host_text(const json& event) {
    const auto remote = event.find("remote");
    if (remote == event.end() || !remote->is_object()) return {};
    const auto host = string_of(*remote, "host"), address = string_of(*remote, "address");
    if (host.empty() || address.empty()) return host + address;
    return fmt::format("{}[{}]", host, address);
}

// What an event says beside its type, message and recipient.
std::string detail_of(const json& event) {
    auto text = history::reply_of(event);
    for (const auto* member : {"why", "link", "name", "source"})
        if (text.empty()) text = string_of(event, member);
    return text;
}

std::string heading(const history::MessageHistory& message) {
    return fmt::format("{}  from {}  {}\n", message.id(), sender_text(message.sender()), message.outcome_text());
}

std::string no_longer_queued(const history::MessageHistory& message) {
    return fmt::format("{}: no longer queued: {}\n", message.id(), message.outcome_text());
}

Table events_table(const FoundMessage& message) {
    Table table({"Time", ">Number", "Event", "Recipient", "Detail"});
    for (const auto& event : message.events)
        table.row({clock_text(string_of(event, "time")), fmt::format("{}", number_of(event, "seq")),
                   string_of(event, "type"), string_of(event, "recipient"), detail_of(event)});
    return table;
}

json recipients_json(const history::MessageHistory& message) {
    json out = json::array();
    for (const auto& each : message.recipients()) {
        json one = {{"recipient", each.address}, {"outcome", name_of(each.outcome)}};
        const auto put = [&](const char* key, const std::string& value) {
            if (!value.empty()) one[key] = value;
        };
        put("time", each.time);
        put("link", each.link);
        put("reply", each.reply);
        put("class", each.failure_class);
        if (each.attempts > 0) one["attempts"] = each.attempts;
        out.push_back(std::move(one));
    }
    return out;
}

} // namespace

std::int64_t event_seconds(const std::string& time) {
    const auto at = smtp::parse_rfc3339(time.substr(0, time_without_fraction) + "Z");
    return at ? std::chrono::floor<std::chrono::seconds>(at->time_since_epoch()).count() : 0;
}

Table message_table() { return Table({"Time", "Id", "From", "To", "Outcome", "Reply"}); }

void add_message(Table& table, const history::MessageHistory& message) {
    table.row({clock_text(message.last_time()), message.id(), sender_text(message.sender()), recipients_text(message),
               message.outcome_text(), message.reply()});
}

void add_event(Table& table, const json& event) {
    table.row({clock_text(string_of(event, "time")), "-", string_of(event, "sender"), string_of(event, "recipient"),
               string_of(event, "type"), detail_of(event)});
}

std::string attempts_text(const FoundMessage& message, std::size_t width) {
    Table table({"Time", "Recipient", ">Attempt", "Outcome", "Class", "Server", "Reply"});
    for (const auto& event : message.events) {
        const auto type = string_of(event, "type");
        const auto attempt = number_of(event, "attempt");
        if (attempt == 0 || std::ranges::find(attempt_types, type) == attempt_types.end()) continue;
        table.row({clock_text(string_of(event, "time")), string_of(event, "recipient"), fmt::format("{}", attempt),
                   type.substr(type.find('.') + 1), string_of(event, "class"), host_text(event),
                   history::reply_of(event)});
    }
    return heading(message.history) + (table.empty() ? "  no attempt\n" : table.text(width, "  "));
}

std::string events_text(const FoundMessage& message, std::size_t width) {
    auto text = heading(message.history) + events_table(message).text(width, "  ");
    if (message.events_left_out > 0) text += fmt::format("  … and {} more\n", message.events_left_out);
    return text;
}

std::string message_text(const FoundMessage& message, std::size_t width) {
    const auto& history = message.history;
    auto text = no_longer_queued(history);
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) text += fmt::format("  {:<11} {}\n", name, truncated(value, 2000));
    };
    add("From", sender_text(history.sender()));
    add("Message-ID", history.message_id());
    add("Submitter", history.submitter());
    if (!history.accepted().empty()) add("Accepted", clock_text(history.accepted()));
    if (history.size() > 0) add("Size", size_text(history.size()));
    add("Last event", clock_text(history.last_time()));
    if (message.content_until > 0)
        add("Content",
            fmt::format("kept until {}: postrider message resend {}", time_text(message.content_until), history.id()));
    Table table({"Recipient", "Outcome", ">Attempts", "Time", "Link", "Reply"});
    for (const auto& each : history.recipients())
        table.row({each.address, std::string(name_of(each.outcome)),
                   each.attempts == 0 ? "" : fmt::format("{}", each.attempts),
                   each.time.empty() ? "" : clock_text(each.time), each.link, each.reply});
    if (!table.empty()) text += table.text(width, "  ");
    if (history.recipients_total() > history.recipients().size())
        text += fmt::format("  … and {} more recipients\n", history.recipients_total() - history.recipients().size());
    return text;
}

std::string explanation_text(const FoundMessage& message, std::size_t width) {
    auto text = no_longer_queued(message.history) + events_table(message).text(width, "  ");
    if (message.events_left_out > 0) text += fmt::format("  … and {} more\n", message.events_left_out);
    return text;
}

std::string event_line(const json& event) {
    std::string line = fmt::format("{}  {}  {}", clock_text(string_of(event, "time")), number_of(event, "seq"),
                                   string_of(event, "type"));
    for (const auto& part : {string_of(event, "id"), string_of(event, "recipient"), detail_of(event)})
        if (!part.empty()) line += "  " + truncated(part, 0);
    return line;
}

std::string summary_text(const history::HistorySummary& summary, std::uint64_t limit, std::size_t width) {
    Table table({">Events", ">Delivered", ">Deferred", ">Failed", summary.by()});
    for (const auto& [group, counts] : summary.sorted(limit))
        table.row({fmt::format("{}", counts.total()), fmt::format("{}", counts.delivered),
                   fmt::format("{}", counts.deferred), fmt::format("{}", counts.failed), group});
    return table.text(width);
}

json to_json(const FoundMessage& message, bool with_events) {
    const auto& history = message.history;
    json out = {{"version", 1},
                {"id", history.id()},
                {"sender", history.sender()},
                {"outcome", history.outcome_text()},
                {"finished", history.finished()},
                {"last_time", history.last_time()},
                {"recipients", recipients_json(history)},
                {"recipients_total", history.recipients_total()},
                {"events_total", history.events()}};
    if (!history.message_id().empty()) out["message_id"] = history.message_id();
    if (!history.submitter().empty()) out["submitter"] = history.submitter();
    if (!history.accepted().empty()) out["accepted"] = history.accepted();
    if (history.size() > 0) out["size"] = history.size();
    if (message.content_until > 0) out["content_until"] = message.content_until;
    if (with_events) out["events"] = message.events;
    return out;
}

} // namespace postrider
