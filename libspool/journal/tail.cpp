#include "libspool/journal/tail.h"
#include "libspool/journal/event_type.h"
#include "libspool/journal/json_object.h"
#include <algorithm>
#include <functional>
#include <utility>

namespace spool::journal {

namespace {

constexpr std::string_view ends[] = {
    name_of(EventType::message_delivered),  name_of(EventType::message_failed),    name_of(EventType::message_expired),
    name_of(EventType::message_suppressed), name_of(EventType::message_discarded), name_of(EventType::message_expanded),
};

// What follows the mark, up to the next quotation mark; "" if there is none. No text of a line can hold the mark,
// because its quotation marks are escaped.
std::string_view value_after(std::string_view& line, std::string_view mark) {
    const auto at = line.find(mark);
    if (at == line.npos) return {};
    line.remove_prefix(at + mark.size());
    return line.substr(0, line.find('"'));
}

// `recipient`: as written in a line, up to its first quotation mark.
std::uint64_t hash_of(QueueId id, std::string_view recipient) {
    return std::hash<QueueId>()(id) ^ std::hash<std::string_view>()(recipient);
}

} // namespace

void Tail::add(std::string_view line) {
    const auto time = value_after(line, ",\"time\":\"");
    if (since.empty()) since = time;
    const auto type = value_after(line, "\",\"type\":\"");
    const bool is_accepted = type == name_of(EventType::message_accepted);
    const bool is_finished = type == name_of(EventType::message_finished);
    const bool is_end = std::ranges::find(ends, type) != std::end(ends);
    if (!is_accepted && !is_finished && !is_end) return;
    line.remove_prefix(type.size());
    if (!line.starts_with("\",\"id\":\"")) return;
    const auto id = QueueId::parse(value_after(line, "\"id\":\""));
    if (!id) return;
    if (is_accepted) accepted.insert(*id);
    if (is_finished) finished.insert(*id);
    if (is_end) ended.insert(hash_of(*id, value_after(line, ",\"recipient\":\"")));
}

void Tail::add_older(Tail&& older) {
    accepted.merge(older.accepted);
    finished.merge(older.finished);
    ended.merge(older.ended);
    if (!older.since.empty()) since = std::move(older.since);
}

bool Tail::has_end(QueueId id, std::string_view recipient) const {
    if (ended.empty()) return false;
    std::string text;
    append_text(text, recipient);
    const auto written = std::string_view(text).substr(1);
    return ended.contains(hash_of(id, written.substr(0, written.find('"'))));
}

bool Tail::covers(smtp::WallTime at) const {
    std::string text;
    append_time(text, at);
    return !since.empty() && text >= since;
}

} // namespace spool::journal
