// The text of a TXT record as a zone file has it. Pure.
#pragma once
#include <string>
#include <string_view>

namespace postrider {

// In quotes; a text that is longer than the 255 bytes of one string of the DNS becomes several.
std::string txt_strings(std::string_view text);

} // namespace postrider
