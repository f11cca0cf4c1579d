#include "libsmtp/encoded_word.h"
#include <fmt/format.h>

namespace smtp {

std::string encoded_words(std::string_view utf8) {
    std::string out, word;
    const auto close = [&] {
        if (!word.empty()) out += fmt::format("{}=?utf-8?Q?{}?=", out.empty() ? "" : " ", word);
        word.clear();
    };
    for (unsigned char c : utf8) {
        const bool inside = (c & 0xC0) == 0x80;
        // 12 bytes of frame and up to 12 of one character; what is not UTF-8 is cut where it must be.
        if (word.size() > (inside ? 60 : 51)) close();
        if ((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'))
            word.push_back(static_cast<char>(c));
        else
            word += fmt::format("={:02X}", c);
    }
    close();
    return out;
}

} // namespace smtp
