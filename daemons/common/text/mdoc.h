// Text escaped for mdoc(7), for the pages that are generated from tables. Knows what is special to mandoc.
#pragma once
#include <string>
#include <string_view>

namespace common {

// Backslashes, quotation marks, hyphens that are to stay, and a dot or apostrophe in front.
std::string mdoc(std::string_view text);

} // namespace common
