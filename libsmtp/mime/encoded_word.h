// Text with bytes above 127 in the encoding of header fields (RFC 2047). Knows nothing of fields.
#pragma once
#include <string>
#include <string_view>

namespace smtp {

// UTF-8 as "=?utf-8?Q?…?=" words of at most 75 bytes, none ending inside a character, joined by blanks. `first`: length
// of the first one, at least 24.
std::string encoded_words(std::string_view utf8, std::size_t first = 75);

// What a person reads: the words of `value`, which is unfolded, decoded where their charset is UTF-8, US-ASCII or
// ISO-8859-1 and left as they are where it is another; well-formed UTF-8 of at most `limit` bytes, what is not, and
// control characters, as "?".
std::string decoded_words(std::string_view value, std::size_t limit = 512);

} // namespace smtp
