#include "libsmtp/text/text.h"
#include <algorithm>
#include <charconv>

namespace smtp {

std::string lowered(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = lower(c);
    return out;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
    return text.size() >= prefix.size() && same_ignoring_case(text.substr(0, prefix.size()), prefix);
}

std::optional<std::uint64_t> parse_number(std::string_view digits, std::uint64_t max) {
    if (digits.empty() || digits.size() > 20 || !std::all_of(digits.begin(), digits.end(), is_digit)) return {};
    std::uint64_t n = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (error != std::errc() || end != digits.data() + digits.size() || n > max) return {};
    return n;
}

std::string printable(std::string_view text, std::size_t limit) {
    const bool cut = text.size() > limit;
    const bool dots = cut && limit > 3;
    if (cut) text = text.substr(0, dots ? limit - 3 : limit);
    std::string out(text);
    for (char& c : out)
        if (!is_printable(c)) c = '?';
    if (dots) out += "...";
    return out;
}

} // namespace smtp
