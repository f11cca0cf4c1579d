// The content of a message of a draft: texts, what HTML refers to, and files, in parts of MIME. The same draft makes
// the same content: boundaries are a digest of what they separate. Pure.
#pragma once
#include "daemons/http/compose/draft.h"
#include "daemons/http/compose/part.h"
#include <expected>
#include <string>

namespace http::compose {

inline constexpr std::size_t most_attachments = 100, longest_name = 255; // bytes: of names, types and cids

std::expected<Part, std::string> content(const Draft& draft);

} // namespace http::compose
