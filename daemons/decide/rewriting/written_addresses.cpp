#include "daemons/decide/rewriting/written_addresses.h"
#include "libsmtp/message/address.h"
#include "libsmtp/message/address_list.h"
#include "libsmtp/text/trim.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace decide {

namespace {

constexpr std::string_view blanks = " \t\r\n";

// Past the quoted string, comment or bracket that begins at `at`; the end of the text if it does not close.
std::size_t end_of_enclosed(std::string_view text, std::size_t at) {
    const char open = text[at], close = open == '"' ? '"' : open == '(' ? ')' : open == '<' ? '>' : ']';
    std::size_t depth = 0;
    for (bool quoted = false; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '\\') {
            ++at;
        } else if (open == '<' && c == '"') {
            quoted = !quoted;
        } else if (quoted) {
            continue;
        } else if (c == close && depth != 0) {
            if (--depth == 0) return at + 1;
        } else if (c == open && (depth == 0 || open == '(')) {
            ++depth;
        }
    }
    return text.size();
}

bool opens(char c) { return c == '"' || c == '(' || c == '<' || c == '['; }

std::optional<std::string> as_it_stands(std::string_view text) {
    const auto mailbox = smtp::Mailbox::parse_bare_allowed(text);
    if (!mailbox) return {};
    return mailbox->text();
}

// The content of the quotes if they enclose all of `text`; otherwise nothing.
std::optional<std::string> in_quotes(std::string_view text) {
    if (!text.starts_with('"') || text.size() < 2 || end_of_enclosed(text, 0) != text.size() || text.back() != '"')
        return {};
    std::string out;
    for (std::size_t i = 1; i + 1 < text.size(); ++i) {
        if (text[i] == '\\' && i + 2 < text.size()) ++i;
        out += text[i];
    }
    return out;
}

auto no_address(std::string_view text, std::string_view why) {
    return std::unexpected(
        smtp::Malformed{fmt::format("\"{}\" is not a valid address: {}", smtp::printable(text, 100), why)});
}

// "ann bob": nothing if one of them is invalid.
std::optional<std::vector<std::string>> words(std::string_view text) {
    std::vector<std::string> out;
    while (!(text = smtp::trimmed(text, blanks)).empty()) {
        std::size_t end = 0;
        while (end < text.size() && blanks.find(text[end]) == blanks.npos)
            end = text[end] == '"' ? end_of_enclosed(text, end) : end + 1;
        auto word = text.substr(0, end);
        text.remove_prefix(end);
        if (word.ends_with('.')) word.remove_suffix(1);
        auto address = as_it_stands(word);
        if (!address) return {};
        out.push_back(*std::move(address));
    }
    return out;
}

} // namespace

std::string_view take_list_item(std::string_view& text) {
    std::size_t begin = 0, at = 0;
    while (at < text.size() && text[at] != ',' && text[at] != ';') {
        if (text[at] == ':') {
            begin = ++at;
        } else if (opens(text[at])) {
            at = end_of_enclosed(text, at);
        } else {
            at += text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
        }
    }
    const auto item = text.substr(begin, at - begin);
    text.remove_prefix(std::min(text.size(), at + 1));
    return item;
}

std::expected<std::vector<std::string>, smtp::Malformed> addresses_in_item(std::string_view item) {
    const auto text = smtp::trimmed(item, blanks);
    if (text.empty()) return std::vector<std::string>{};
    if (auto address = as_it_stands(text)) {
        // "ann@x" in quotes is that address: no local part has an @ in it.
        const auto inside = in_quotes(text);
        if (!inside || inside->find('@') == inside->npos) return std::vector{*std::move(address)};
        const auto meant = smtp::Mailbox::parse(*inside);
        if (!meant) return no_address(text, meant.error().why);
        return std::vector{meant->text()};
    }
    const auto listed = smtp::parse_address_list(text);
    if (!listed) {
        if (auto several = words(text)) return *std::move(several);
        return no_address(text, listed.error().why);
    }
    std::vector<std::string> out;
    for (const auto& one : *listed) {
        const auto mailbox = smtp::Mailbox::parse_bare_allowed(smtp::Mailbox{one.local_part, one.domain}.text());
        if (!mailbox) return no_address(text, mailbox.error().why);
        out.push_back(mailbox->text());
    }
    return out;
}

} // namespace decide
