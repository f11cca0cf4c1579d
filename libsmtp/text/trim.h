// Text without the blanks around it. Which characters are blanks depends on the grammar: a caller with others than
// space and tab names them.
#pragma once
#include <algorithm>
#include <string_view>

namespace smtp {

constexpr std::string_view trimmed_left(std::string_view text, std::string_view blanks = " \t") {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text;
}
constexpr std::string_view trimmed_right(std::string_view text, std::string_view blanks = " \t") {
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}
constexpr std::string_view trimmed(std::string_view text, std::string_view blanks = " \t") {
    return trimmed_left(trimmed_right(text, blanks), blanks);
}

} // namespace smtp
