// UTF-8 (RFC 3629) in addresses and header fields (RFC 6531, 6532): whether text is
// well-formed, and whether it is ASCII. Knows bytes; nothing of scripts, case or normal forms.
#pragma once
#include <cstddef>
#include <string_view>

namespace smtp {

// Length of the well-formed character that starts `text`; 0 if there is none (also for an empty text).
std::size_t utf8_length(std::string_view text);

// No byte above 127.
bool is_ascii(std::string_view text);

// Well-formed throughout, and without the control characters U+0080 to U+009F that some terminals obey.
// Those of ASCII are the caller's affair.
bool is_utf8_text(std::string_view text);

// A file's text without the mark U+FEFF that some editors put before it.
std::string_view without_byte_order_mark(std::string_view text);

} // namespace smtp
