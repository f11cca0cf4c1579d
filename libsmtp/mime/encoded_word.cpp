#include "libsmtp/mime/encoded_word.h"
#include "libsmtp/text/base64.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace smtp {

namespace {

std::optional<std::string> from_q(std::string_view text) {
    const auto digit = [](char c) {
        return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
    };
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '=') {
            out.push_back(text[at] == '_' ? ' ' : text[at]);
            continue;
        }
        const int high = at + 2 < text.size() ? digit(text[at + 1]) : -1;
        const int low = high < 0 ? -1 : digit(text[at + 2]);
        if (low < 0) return {};
        out.push_back(static_cast<char>(high * 16 + low));
        at += 2;
    }
    return out;
}

std::string from_latin1(std::string_view text) {
    std::string out;
    for (const unsigned char c : text) {
        if (c < 0x80) {
            out.push_back(static_cast<char>(c));
        } else {
            out.push_back(static_cast<char>(0xC0 | (c >> 6)));
            out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
        }
    }
    return out;
}

// The encoded word that starts `text`; its length in `length`.
std::optional<std::string> one_word(std::string_view text, std::size_t& length) {
    if (!text.starts_with("=?")) return {};
    const auto charset_end = text.find('?', 2);
    if (charset_end == text.npos || charset_end + 2 >= text.size() || text[charset_end + 2] != '?') return {};
    const auto end = text.find("?=", charset_end + 3);
    if (end == text.npos) return {};
    auto charset = text.substr(2, charset_end - 2);
    charset = charset.substr(0, charset.find('*')); // a language (RFC 2231, 5)
    const auto content = text.substr(charset_end + 3, end - charset_end - 3);
    const char how = static_cast<char>(text[charset_end + 1] | 32);
    auto bytes = how == 'q' ? from_q(content) : how == 'b' ? decode_base64(content) : std::nullopt;
    const bool latin = same_ignoring_case(charset, "iso-8859-1");
    if (!bytes || !(latin || same_ignoring_case(charset, "utf-8") || same_ignoring_case(charset, "us-ascii")))
        return {};
    length = end + 2;
    return latin ? from_latin1(*bytes) : *bytes;
}

} // namespace

std::string decoded_words(std::string_view value, std::size_t limit) {
    std::string bytes;
    std::size_t blanks_from = std::string::npos; // behind a word: they go if another follows
    for (std::size_t at = 0; at < value.size();) {
        std::size_t length = 0;
        if (auto word = one_word(value.substr(at), length)) {
            if (blanks_from != std::string::npos) bytes.resize(blanks_from);
            bytes += *word;
            blanks_from = bytes.size();
            at += length;
            continue;
        }
        if (value[at] != ' ' && value[at] != '\t') blanks_from = std::string::npos;
        bytes.push_back(value[at++]);
    }
    std::string out;
    for (std::string_view left = bytes; !left.empty();) {
        const auto length = utf8_length(left);
        const bool good = length > 1 ? is_utf8_text(left.substr(0, length)) : length == 1 && is_printable(left.front());
        if (out.size() + std::max<std::size_t>(length, 1) > limit) break;
        if (good)
            out += left.substr(0, length);
        else
            out.push_back('?');
        left.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

std::string encoded_words(std::string_view utf8, std::size_t first) {
    constexpr std::size_t longest = 75, frame = 12; // of one word, and of that "=?utf-8?Q??="
    std::string out, word;
    std::size_t room = std::min(first, longest) - frame;
    const auto close = [&] {
        if (!word.empty()) out += fmt::format("{}=?utf-8?Q?{}?=", out.empty() ? "" : " ", word);
        word.clear();
        room = longest - frame;
    };
    for (unsigned char c : utf8) {
        const bool inside = (c & 0xC0) == 0x80;
        // Up to 12 bytes of one character; what is not UTF-8 is cut where it must be.
        if (!word.empty() && word.size() > room - (inside ? 3 : 12)) close();
        if ((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'))
            word.push_back(static_cast<char>(c));
        else
            word += fmt::format("={:02X}", c);
    }
    close();
    return out;
}

} // namespace smtp
