#include "libspool/journal/tail.h"
#include "libspool/journal/event_type.h"

namespace spool::journal {

namespace {

// What follows the mark, up to the quotation mark; "" if there is none. No text of a line can hold the mark, because
// its quotation marks are escaped.
std::string_view value_after(std::string_view& line, std::string_view mark) {
    const auto at = line.find(mark);
    if (at == line.npos) return {};
    line.remove_prefix(at + mark.size());
    return line.substr(0, line.find('"'));
}

} // namespace

void Tail::add(std::string_view line) {
    const auto type = value_after(line, ",\"type\":\"");
    const bool is_accepted = type == name_of(EventType::message_accepted);
    if (!is_accepted && type != name_of(EventType::message_finished)) return;
    line.remove_prefix(type.size());
    if (!line.starts_with("\",\"id\":\"")) return;
    if (const auto id = QueueId::parse(value_after(line, "\"id\":\""))) (is_accepted ? accepted : finished).insert(*id);
}

} // namespace spool::journal
