#include "daemons/http/compose/field_text.h"
#include "libsmtp/message/address_list.h"
#include "libsmtp/mime/encoded_word.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/trim.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <fmt/format.h>

namespace http::compose {

namespace {

constexpr std::size_t wanted_line = 76, longest_header_line = 998;

// Breaks lines before blanks: each of them then has something besides blanks. `value` is trimmed. Before its first word
// only where that is an encoded one, whose line may not be longer. False: a line that is too long remains.
bool fold(std::string_view name, std::string_view value, std::string& out) {
    out.append(name) += ':';
    std::size_t column = name.size() + 1;
    bool fits = true;
    const auto text = fmt::format(" {}", value);
    for (std::size_t at = 0; at < text.size();) {
        const auto word = std::min(text.find_first_not_of(' ', at), text.size());
        const auto end = std::min(text.find(' ', word), text.size());
        const auto piece = std::string_view(text).substr(at, end - at);
        if (column + piece.size() > wanted_line && (at > 0 || piece.starts_with(" =?"))) {
            out += "\r\n";
            column = 0;
        }
        out += piece;
        column += piece.size();
        fits = fits && column <= longest_header_line;
        at = end;
    }
    out += "\r\n";
    return fits;
}

// How long an encoded word may be that follows a field's name.
std::size_t room_after(std::string_view name) {
    constexpr std::size_t least = 24;
    return std::max(wanted_line - std::min(wanted_line, name.size() + 2), least);
}

// `room`: for its first encoded word.
std::string with_name(const smtp::ListedAddress& address, std::size_t room) {
    if (address.display_name.empty()) return address.address();
    const auto& name = address.display_name;
    const bool plain = smtp::is_ascii(name) && name.find("=?") == name.npos;
    return fmt::format("{} <{}>", plain ? smtp::quote_phrase(name) : smtp::encoded_words(name, room),
                       address.address());
}

} // namespace

bool is_line(std::string_view text) {
    return smtp::is_utf8_text(text) &&
           std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
}

// What looks like an encoded word is encoded, so that it is read as it was given.
std::string text_field(std::string_view name, std::string_view value) {
    value = smtp::trimmed(value);
    std::string out;
    if (smtp::is_ascii(value) && value.find("=?") == value.npos && fold(name, value, out)) return out;
    out.clear();
    fold(name, smtp::encoded_words(value, room_after(name)), out);
    return out;
}

std::expected<std::string, std::string> exact_field(std::string_view name, std::string_view value) {
    std::string out;
    if (!smtp::is_ascii(value)) return std::unexpected("ASCII");
    if (!fold(name, smtp::trimmed(value), out))
        return std::unexpected(fmt::format("words of at most {} bytes", longest_header_line - name.size() - 2));
    return out;
}

std::expected<std::string, std::string> address_field(std::string_view name, std::string_view value) {
    const auto listed = smtp::parse_address_list(value);
    if (!listed) return std::unexpected("addresses, separated by commas: " + listed.error().why);
    if (smtp::is_ascii(value)) return exact_field(name, value);
    std::string out;
    for (const auto& each : *listed) {
        if (!each.group.empty()) return std::unexpected("a group to have ASCII only");
        out += (out.empty() ? "" : ", ") + with_name(each, out.empty() ? room_after(name) : wanted_line);
    }
    std::string field;
    if (!fold(name, out, field)) return std::unexpected("addresses that are shorter");
    return field;
}

} // namespace http::compose
