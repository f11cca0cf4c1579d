#include "libsmtp/text/utf8.h"
#include <algorithm>

namespace smtp {

std::size_t utf8_length(std::string_view text) {
    if (text.empty()) return 0;
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::size_t length = at(0) < 0x80   ? 1
                               : at(0) < 0xC2 ? 0
                               : at(0) < 0xE0 ? 2
                               : at(0) < 0xF0 ? 3
                               : at(0) < 0xF5 ? 4
                                              : 0;
    if (length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((at(i) & 0xC0) != 0x80) return 0;
    if (length > 2 && ((at(0) == 0xE0 && at(1) < 0xA0) || (at(0) == 0xED && at(1) > 0x9F) ||
                       (at(0) == 0xF0 && at(1) < 0x90) || (at(0) == 0xF4 && at(1) > 0x8F)))
        return 0;
    return length;
}

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool is_utf8_text(std::string_view text) {
    while (!text.empty()) {
        const auto length = utf8_length(text);
        if (length == 0) return false;
        if (text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string_view without_byte_order_mark(std::string_view text) {
    constexpr std::string_view mark = "\xEF\xBB\xBF";
    return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

} // namespace smtp
