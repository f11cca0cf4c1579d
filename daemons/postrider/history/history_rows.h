// Events and messages of the journal in the form for a terminal and as JSON. Pure.
#pragma once
#include "daemons/common/history/history_summary.h"
#include "daemons/common/history/message_history.h"
#include "daemons/common/terminal/text.h"
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace postrider {

// A message and its events, in their order.
struct FoundMessage {
    history::MessageHistory history;
    std::vector<nlohmann::json> events;
    std::uint64_t events_left_out = 0; // beyond what is kept
    std::int64_t content_until = 0;    // when its content is removed, in seconds since 1970; 0: it has been
};

// An event's time in seconds since 1970; 0: it has none.
std::int64_t event_seconds(const std::string& time);

Table message_table();
void add_message(Table& table, const history::MessageHistory& message);
// An event that belongs to no message, among the messages.
void add_event(Table& table, const nlohmann::json& event);

// One line for each attempt, or for each event, with the message's line as its heading.
std::string attempts_text(const FoundMessage& message, std::size_t width);
std::string events_text(const FoundMessage& message, std::size_t width);
// A message that is no longer queued: what became of each recipient.
std::string message_text(const FoundMessage& message, std::size_t width);
// The same message: why it is no longer queued, and everything that happened to it.
std::string explanation_text(const FoundMessage& message, std::size_t width);
// "2026-11-26 18:00:00  42  message.failed  0123…  ann@remote.example  550 5.1.1 …"
std::string event_line(const nlohmann::json& event);

// The first `limit` groups.
std::string summary_text(const history::HistorySummary& summary, std::uint64_t limit, std::size_t width);

nlohmann::json to_json(const FoundMessage& message, bool with_events);

} // namespace postrider
