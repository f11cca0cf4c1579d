// Text with bytes above 127 as header fields write it (RFC 2047). Encodes only; knows nothing of fields.
#pragma once
#include <string>
#include <string_view>

namespace smtp {

// UTF-8 as "=?utf-8?Q?…?=" words of at most 75 bytes, none ending inside a character, joined by blanks.
std::string encoded_words(std::string_view utf8);

} // namespace smtp
