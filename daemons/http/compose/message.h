// Makes a message (RFC 5322) of a draft. There is neither a date nor a Message-ID: these are added when the message is
// accepted. Pure.
#pragma once
#include "daemons/http/compose/draft.h"
#include <expected>
#include <string>

namespace http::compose {

// The error names the member, and what was expected: "headers.To: expected one value."
std::expected<std::string, std::string> message(const Draft& draft);

} // namespace http::compose
