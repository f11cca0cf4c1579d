// Types of bodies, in Content-Type and Accept (RFC 9110, 8.3 and 12.5.1). Pure.
#pragma once
#include <string>
#include <string_view>

namespace http {

inline constexpr std::string_view rfc822_type = "message/rfc822", json_type = "application/json",
                                  lines_type = "application/x-ndjson", event_stream_type = "text/event-stream",
                                  transfer_type = "application/vnd.postrider.message";

// Without its parameters, in lower case.
std::string media_type(std::string_view field);
// Whether a list names this type itself.
bool names_type(std::string_view accept, std::string_view type);

} // namespace http
