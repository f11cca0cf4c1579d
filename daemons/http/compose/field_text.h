// Header fields as text (RFC 5322, 2.2.3; RFC 2047): folded, no line longer than 998 bytes, letters beyond ASCII
// encoded. No value can begin another field. Knows no names of fields.
#pragma once
#include <expected>
#include <string>
#include <string_view>

namespace http::compose {

// One line of UTF-8 without control characters.
bool is_line(std::string_view text);

// "Name: value" with its line end. `value`: a line. It may be cut anywhere, because it is text for people.
std::string text_field(std::string_view name, std::string_view value);

// `value`: a line of ASCII that programs read, folded at blanks only. The error is what was expected instead.
std::expected<std::string, std::string> exact_field(std::string_view name, std::string_view value);

// `value`: a list of addresses; display names are encoded.
std::expected<std::string, std::string> address_field(std::string_view name, std::string_view value);

} // namespace http::compose
