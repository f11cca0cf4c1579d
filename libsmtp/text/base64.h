// Base64 (RFC 4648), strict: padded, without line breaks, no bits left over.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace smtp {

std::string encode_base64(std::string_view bytes);
std::optional<std::string> decode_base64(std::string_view text);

} // namespace smtp
