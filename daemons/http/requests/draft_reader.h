// The members of a request that a message is composed of, and the message. Pure.
#pragma once
#include "daemons/http/compose/draft.h"
#include "daemons/http/requests/json_reader.h"

namespace http {

// Names of members whose texts are content.
inline const std::set<std::string_view> content_members = {"raw", "text", "html", "attachments"};

// Whether there is any of subject, text, html, headers and attachments.
bool has_draft(const Members& members);
// These; without sender and recipients. What is wrong is kept in `members`.
compose::Draft read_draft(Members& members);

} // namespace http
