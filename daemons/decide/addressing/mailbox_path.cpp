#include "daemons/decide/addressing/mailbox_path.h"
#include <algorithm>

namespace decide {

namespace {

constexpr std::size_t longest_name = 255, longest_place = 4000;

bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= longest_name && text.front() != '.' &&
           std::ranges::none_of(text, [](unsigned char c) { return c == '/' || c < 0x20 || c == 0x7f; });
}

// Of a table: the administrator's, and may name directories.
bool is_path(std::string_view text) {
    if (text.empty() || std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; })) return false;
    while (!text.empty()) {
        const auto part = text.substr(0, text.find('/'));
        if (part == "..") return false;
        text.remove_prefix(std::min(text.size(), part.size() + 1));
    }
    return true;
}

} // namespace

bool is_mailbox_pattern(std::string_view text) { return text.starts_with("maildir:") || text.starts_with("mbox:"); }

std::string mailbox_path(std::string_view pattern, std::string_view user, std::string_view domain,
                         std::string_view value) {
    constexpr std::string_view user_word = "{user}", domain_word = "{domain}", value_word = "{value}";
    std::string out;
    while (!pattern.empty()) {
        if (pattern.starts_with(user_word)) {
            if (!is_name(user)) return {};
            out += user;
            pattern.remove_prefix(user_word.size());
        } else if (pattern.starts_with(domain_word)) {
            if (!is_name(domain)) return {};
            out += domain;
            pattern.remove_prefix(domain_word.size());
        } else if (pattern.starts_with(value_word)) {
            if (!is_path(value)) return {};
            out += value;
            pattern.remove_prefix(value_word.size());
        } else {
            out += pattern.front();
            pattern.remove_prefix(1);
        }
    }
    return out.size() <= longest_place ? out : std::string();
}

bool is_mailbox_path(std::string_view pattern, std::string_view place, std::string_view user, std::string_view domain) {
    if (!is_mailbox_pattern(pattern)) return false;
    constexpr std::string_view value_word = "{value}", some = "v";
    const auto first = pattern.find(value_word);
    if (first == pattern.npos) return mailbox_path(pattern, user, domain, "") == place;
    // Where the first of them stands, and how long it is.
    const auto before = mailbox_path(pattern.substr(0, first), user, domain, "");
    const auto shortest = mailbox_path(pattern, user, domain, some);
    std::size_t values = 0;
    for (auto at = first; at != pattern.npos; at = pattern.find(value_word, at + 1)) ++values;
    if (before.empty() || shortest.empty() || place.size() < shortest.size()) return false;
    const auto longer = place.size() - shortest.size();
    if (longer % values != 0) return false;
    return mailbox_path(pattern, user, domain, place.substr(before.size(), longer / values + some.size())) == place;
}

} // namespace decide
