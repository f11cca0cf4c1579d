#include "daemons/common/history/line_filter.h"
#include <algorithm>
#include <cstring>

namespace history {

namespace {

// JSON may write these in another way: a part of a pattern that is looked for as bytes has none of them.
bool is_literal(char c) { return c > 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '/' && c != '*' && c != '?'; }

// The longest part of the pattern that every match contains unchanged.
std::string_view literal_of(std::string_view pattern) {
    std::string_view longest;
    for (std::size_t begin = 0; begin < pattern.size();) {
        std::size_t end = begin;
        while (end < pattern.size() && is_literal(pattern[end])) ++end;
        if (end - begin > longest.size()) longest = pattern.substr(begin, end - begin);
        begin = end + 1;
    }
    return longest;
}

} // namespace

LineFilter::LineFilter(const HistoryQuery& query) {
    for (const auto& term : query.terms()) {
        std::vector<std::string> alternatives;
        for (const auto& pattern : term.patterns) alternatives.emplace_back(literal_of(pattern));
        if (std::ranges::none_of(alternatives, &std::string::empty)) needed_.push_back(std::move(alternatives));
    }
}

bool LineFilter::may_match(std::string_view lower_case) const {
    return std::ranges::all_of(needed_, [&](const auto& alternatives) {
        return std::ranges::any_of(alternatives, [&](const std::string& part) {
            return ::memmem(lower_case.data(), lower_case.size(), part.data(), part.size()) != nullptr;
        });
    });
}

void make_lower(std::string_view text, std::string& into) {
    into.resize(text.size());
    std::ranges::transform(text, into.begin(), [](char c) {
        return static_cast<char>(c | (static_cast<unsigned char>(c - 'A') < 26 ? 0x20 : 0));
    });
}

} // namespace history
