#include "libsmtp/protocol/reply.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>
#include <iterator>

namespace smtp {

static constexpr std::size_t max_text = 480; // of one line; with code, status and CRLF under 512 (RFC 5321, 4.5.3.1.5)

static std::optional<std::uint16_t> status_number(std::string_view& rest) {
    const auto dot = std::min(rest.find('.'), rest.size());
    const auto digits = rest.substr(0, dot);
    if (digits.size() > 3 || (digits.size() > 1 && digits[0] == '0')) return {};
    const auto n = parse_number(digits, 999);
    if (!n) return {};
    rest.remove_prefix(std::min(dot + 1, rest.size()));
    return static_cast<std::uint16_t>(*n);
}

std::optional<EnhancedStatus> EnhancedStatus::parse(std::string_view text) {
    if (text.size() < 5 || text.ends_with('.') || (text[0] != '2' && text[0] != '4' && text[0] != '5')) return {};
    if (text[1] != '.') return {};
    const auto klass = static_cast<std::uint16_t>(text[0] - '0');
    text.remove_prefix(2);
    if (text.find('.') == text.npos) return {};
    const auto subject = status_number(text);
    const auto detail = status_number(text);
    if (!subject || !detail || !text.empty()) return {};
    return EnhancedStatus{klass, *subject, *detail};
}

std::string EnhancedStatus::text() const {
    return given() ? fmt::format("{}.{}.{}", klass, subject, detail) : std::string();
}

std::string Reply::line() const {
    std::string out = code ? std::to_string(code) : std::string();
    const auto add = [&out](std::string_view word) {
        if (word.empty()) return;
        if (!out.empty()) out += ' ';
        out += word;
    };
    add(status.text());
    add(text);
    for (char& c : out)
        if (c == '\n') c = ' ';
    return out;
}

// Not inside a character of UTF-8 (RFC 6531 lets them into replies).
static std::string_view cut(std::string_view line) {
    if (line.size() <= max_text) return line;
    auto length = max_text;
    while (length > max_text - 4 && (static_cast<unsigned char>(line[length]) & 0xC0) == 0x80) --length;
    return line.substr(0, length);
}

void Reply::append_to(std::string& wire) const {
    char start[24] = {};
    std::size_t length = 4;
    start[0] = static_cast<char>('0' + code / 100 % 10);
    start[1] = static_cast<char>('0' + code / 10 % 10);
    start[2] = static_cast<char>('0' + code % 10);
    if (status.given() && status.klass == code / 100) {
        const auto end = fmt::format_to(start + 4, "{}.{}.{} ", status.klass, status.subject, status.detail);
        length = static_cast<std::size_t>(end - start);
    }
    std::string_view rest = text;
    for (bool last = false; !last;) {
        const auto newline = rest.find('\n');
        last = newline == rest.npos;
        start[3] = last ? ' ' : '-';
        wire.append(start, length);
        for (char c : cut(rest.substr(0, newline)))
            wire.push_back(static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c);
        wire.append("\r\n");
        if (!last) rest.remove_prefix(newline + 1);
    }
}

} // namespace smtp
