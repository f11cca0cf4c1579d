#include "daemons/common/lookup/aliases/alias_targets.h"
#include "daemons/common/text/pattern.h"
#include "daemons/decide/rewriting/written_addresses.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/trim.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <optional>

namespace common {

namespace {

using decide::AliasTarget;

constexpr std::size_t longest_value = 4096;

bool odd(std::string_view value) {
    return value.size() > longest_value ||
           std::ranges::any_of(value, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// Not read as an address: a place, or a user's own mailbox.
bool is_place(std::string_view item) {
    if (item.starts_with('"'))
        item.remove_prefix(1);
    else if (item.starts_with('\\'))
        return true;
    return item.starts_with('|') || item.starts_with('/') || item.starts_with('~') ||
           smtp::starts_with_ignoring_case(item, ":include:");
}

AliasTarget wrong(std::string_view before, std::string_view what) {
    return {AliasTarget::Kind::wrong, fmt::format("{}{}", before, what)};
}

void append_addresses(std::string_view item, std::string_view before, std::vector<AliasTarget>& out) {
    if (odd(item)) return out.push_back(wrong(before, "a target is too long or malformed"));
    auto found = decide::addresses_in_item(item);
    if (!found) return out.push_back(wrong(before, found.error().why));
    for (auto& address : *found) out.push_back({AliasTarget::Kind::address, std::move(address)});
}

AliasTarget place_of(const std::string& value, std::string_view before) {
    constexpr std::string_view include = ":include:";
    if (value.starts_with('|')) return {AliasTarget::Kind::command, value.substr(1)};
    if (value.starts_with('/') || value.starts_with("~/")) return {AliasTarget::Kind::file, value};
    if (value.starts_with('~'))
        return wrong(before, fmt::format("\"{}\": only the user's own home directory, ~/, is possible",
                                         smtp::printable(value, 100)));
    if (smtp::starts_with_ignoring_case(value, include))
        return {AliasTarget::Kind::include,
                std::string(trimmed_blanks(std::string_view(value).substr(include.size())))};
    auto user = decide::addresses_in_item(std::string_view(value).substr(1));
    if (user && user->size() == 1) return {AliasTarget::Kind::user, std::move(user->front())};
    return wrong(before, user ? fmt::format("\"{}\" is no user", smtp::printable(value, 100)) : user.error().why);
}

// Removes it from `text`.
void append_place(std::string_view& text, std::string_view before, std::vector<AliasTarget>& out) {
    bool ended = false;
    const auto value = take_item(text, ',', ended);
    out.push_back(!value        ? wrong(before, "a quote is not closed")
                  : odd(*value) ? wrong(before, "a target is too long or malformed")
                                : place_of(*value, before));
}

} // namespace

std::string_view trimmed_blanks(std::string_view text) {
    return smtp::trimmed_left(smtp::trimmed_right(text, " \t\r")); // a line may end in CRLF
}

std::optional<std::string> take_item(std::string_view& text, char end, bool& ended) {
    std::string out;
    bool quoted = false;
    std::size_t i = 0;
    for (; i < text.size() && (quoted || text[i] != end); ++i) {
        if (text[i] == '"') {
            quoted = !quoted;
        } else if (quoted && text[i] == '\\' && i + 1 < text.size()) {
            out += text[++i];
        } else {
            out += text[i];
        }
    }
    ended = i < text.size();
    text.remove_prefix(ended ? i + 1 : i);
    if (quoted) return {};
    return std::string(trimmed_blanks(out));
}

void append_targets(std::string_view text, std::string_view before, std::vector<AliasTarget>& out) {
    while (!(text = trimmed_blanks(text)).empty()) {
        if (is_place(text)) {
            append_place(text, before, out);
            continue;
        }
        auto item = trimmed_blanks(decide::take_list_item(text));
        if (is_place(item)) // of a group
            append_place(item, before, out);
        else
            append_addresses(item, before, out);
    }
}

std::vector<AliasTarget> parse_targets(std::string_view text) {
    std::vector<AliasTarget> out;
    append_targets(text, "", out);
    return out;
}

std::optional<std::string> wrong_in_rule(std::string_view written) {
    using Kind = AliasTarget::Kind;
    for (const auto& target : parse_targets(written)) {
        const bool address = target.kind == Kind::address || target.kind == Kind::wrong;
        if (address || highest_group(target.value) == 0) continue;
        return fmt::format(
            "\"{}\": $1 … is replaced by text that the sender of a message chooses, and is allowed only in "
            "addresses, not in {}",
            smtp::printable(target.value, 100),
            target.kind == Kind::command   ? "a command"
            : target.kind == Kind::file    ? "the name of a file"
            : target.kind == Kind::include ? "the name of an included file"
                                           : "a user's name");
    }
    return std::nullopt;
}

std::expected<std::vector<AliasTarget>, std::string> parse_filled_in(std::string_view written,
                                                                     std::string_view filled_in) {
    if (auto why = wrong_in_rule(written)) return std::unexpected(*std::move(why));
    const auto before = parse_targets(written);
    auto out = parse_targets(filled_in);
    const auto same = [](const AliasTarget& a, const AliasTarget& b) {
        return a.kind == b.kind && (a.kind == AliasTarget::Kind::address || a == b);
    };
    if (!std::ranges::equal(before, out, same))
        return std::unexpected(fmt::format("\"{}\" becomes \"{}\" for this address, which names other targets",
                                           smtp::printable(written, 100), smtp::printable(filled_in, 200)));
    return out;
}

TargetList TargetList::parse(std::string_view text) {
    text = smtp::without_byte_order_mark(text);
    TargetList list;
    std::uint32_t number = 0;
    while (!text.empty()) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        ++number;
        line = trimmed_blanks(line);
        if (line.empty() || line.front() == '#') continue;
        const auto first = list.targets.size(), before = fmt::formatted_size("line {}: ", number);
        append_targets(line, fmt::format("line {}: ", number), list.targets);
        for (auto i = first; i < list.targets.size(); ++i) {
            auto& target = list.targets[i];
            if (target.kind == AliasTarget::Kind::include) target.line = number;
            if (target.kind == AliasTarget::Kind::wrong && list.problems.size() < most_alias_problems)
                list.problems.push_back({number, target.value.substr(before)});
        }
    }
    return list;
}

} // namespace common
