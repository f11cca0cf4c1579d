// The header of a message of a draft, but for the fields of MIME: those that were given, checked, and From, To and
// Subject. Recipients do not see each other, unless the fields say so. Pure.
#pragma once
#include "daemons/http/compose/draft.h"
#include <expected>
#include <string>

namespace http::compose {

inline constexpr std::size_t most_fields = 100, longest_value = 20'000; // bytes

std::expected<std::string, std::string> header(const Draft& draft);

} // namespace http::compose
