// Messages of the queue and of the history as rows, and the events of one as a timeline. Pure.
#pragma once
#include "daemons/http/pages/parts/parts.h"
#include <nlohmann/json_fwd.hpp>

namespace http::pages {

Table queued_messages(const nlohmann::json& messages, smtp::WallTime now);
// Also events that belong to no message.
Table past_messages(const nlohmann::json& messages, smtp::WallTime now);
// One event of the journal, in a line.
html::Html event_line(const nlohmann::json& event);
html::Html timeline_of(const nlohmann::json& events);

} // namespace http::pages
