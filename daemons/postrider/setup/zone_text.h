// Records as lines of a zone file (RFC 1035, 5). Pure.
#pragma once
#include "daemons/postrider/setup/records.h"
#include <string>
#include <string_view>

namespace postrider::setup {

// "example.com. 3600 IN TXT \"v=spf1 …\"", without the end of the line.
std::string zone_line(const Record& record);
// A text as comment lines of at most 78 columns.
std::string zone_comment(std::string_view text);

} // namespace postrider::setup
