// The place in a list, as clients get it as "next" and send it back as "after": opaque to them, and made of letters,
// digits, "-" and "_". What comes back may be anything. Pure.
#pragma once
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace http {

inline constexpr std::size_t longest_cursor = 4096;

std::string cursor_of(const std::vector<std::string>& place);
// Nothing: it is none, or of another number of texts.
std::optional<std::vector<std::string>> read_cursor(std::string_view cursor, std::size_t texts);

} // namespace http
