// Text as mdoc(7) takes it, for the pages that are written from tables. Knows what means something to mandoc.
#pragma once
#include <string>
#include <string_view>

namespace common {

// Backslashes, quotation marks, hyphens that are to stay, and a dot or apostrophe in front.
std::string mdoc(std::string_view text);

} // namespace common
