#define PCRE2_CODE_UNIT_WIDTH 8
#include "daemons/common/text/pattern.h"
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <pcre2.h>

namespace common {

namespace {

constexpr std::uint32_t heap_per_match = 4 * 1024; // KiB
constexpr std::uint32_t most_groups = 32;          // whose positions are kept, including the whole match

std::unexpected<smtp::Malformed> malformed(std::string why) { return std::unexpected(smtp::Malformed{std::move(why)}); }

std::optional<std::uint32_t> options_of(std::string_view flags) {
    std::uint32_t options = PCRE2_CASELESS | PCRE2_DOTALL;
    for (const char flag : flags) {
        switch (flag) {
        case 'i': options ^= PCRE2_CASELESS; break;
        case 'm': options ^= PCRE2_MULTILINE; break;
        case 's': options ^= PCRE2_DOTALL; break;
        case 'x': options ^= PCRE2_EXTENDED; break;
        case 'A': options ^= PCRE2_ANCHORED; break;
        case 'E': options ^= PCRE2_DOLLAR_ENDONLY; break;
        case 'U': options ^= PCRE2_UNGREEDY; break;
        default: return {};
        }
    }
    return options;
}

// What a text is made of: a piece of plain text, or a group's number.
struct Piece {
    std::string_view plain;
    std::optional<std::uint64_t> group;
};
Piece take_piece(std::string_view& text) {
    if (text.front() != '$' || text.size() == 1) {
        const auto plain = text.substr(0, std::min(text.find('$', 1), text.size()));
        text.remove_prefix(plain.size());
        return {plain, {}};
    }
    if (text[1] == '$') {
        const auto plain = text.substr(0, 1);
        text.remove_prefix(2);
        return {plain, {}};
    }
    text.remove_prefix(1);
    const char close = text.front() == '{' ? '}' : text.front() == '(' ? ')' : '\0';
    if (close != '\0') text.remove_prefix(1);
    std::size_t digits = 0;
    while (digits < text.size() && smtp::is_digit(text[digits])) ++digits;
    const auto group = smtp::parse_number(text.substr(0, digits), 99);
    text.remove_prefix(digits);
    if (close != '\0' && text.starts_with(close)) text.remove_prefix(1);
    return {"", group};
}

} // namespace

void Pattern::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

std::expected<Pattern, smtp::Malformed> Pattern::take(std::string_view& text) {
    const auto is_name = [](char c) { return smtp::is_letter(c) || smtp::is_digit(c); };
    if (text.empty() || is_name(text.front()) || text.front() == '\\')
        return malformed("expected a pattern such as \"/^Subject: .*lottery/\"");
    std::size_t end = 1;
    while (end < text.size() && text[end] != text.front()) end += text[end] == '\\' ? 2 : 1;
    if (end >= text.size()) return malformed("the pattern is not closed");
    Pattern out;
    out.text_ = text.substr(0, end + 1);
    const auto pattern = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    const auto flags = text.substr(0, text.find_first_of(" \t"));
    text.remove_prefix(flags.size());
    const auto options = options_of(flags);
    if (!options)
        return malformed(
            fmt::format("invalid flags \"{}\": expected i, m, s, x, A, E or U", smtp::printable(flags, 40)));
    int error = 0;
    std::size_t at = 0;
    out.code_ = std::shared_ptr<pcre2_real_code_8>(
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                      *options | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT, &error, &at, nullptr),
        Free{});
    if (!out.code_) {
        unsigned char why[200];
        pcre2_get_error_message(error, why, sizeof why);
        return malformed(fmt::format("{} at {}", reinterpret_cast<const char*>(why), at));
    }
    return out;
}

std::uint32_t Pattern::groups() const {
    std::uint32_t groups = 0;
    pcre2_pattern_info(code_.get(), PCRE2_INFO_CAPTURECOUNT, &groups);
    return groups;
}

// Counts the steps of PCRE2 with its callouts, one before each item of a pattern that is tried: its own limit starts
// again at each position of the subject, of which there may be thousands.
PatternMatch::PatternMatch()
    : data_(pcre2_match_data_create(most_groups, nullptr)), limits_(pcre2_match_context_create(nullptr)) {
    pcre2_set_heap_limit(limits_, heap_per_match);
    pcre2_set_match_limit(limits_, std::numeric_limits<std::uint32_t>::max());
    pcre2_set_callout(
        limits_,
        [](pcre2_callout_block* now, void* self) {
            constexpr std::size_t run = 16; // characters taken in one step have a cost as well
            auto& match = *static_cast<PatternMatch*>(self);
            const auto taken = now->current_position > match.at_ ? (now->current_position - match.at_) / run : 0;
            match.left_ -= 1 + static_cast<std::int64_t>(taken);
            match.at_ = now->current_position;
            return match.left_ < 0 ? PCRE2_ERROR_CALLOUT : 0;
        },
        this);
}

PatternMatch::~PatternMatch() {
    pcre2_match_data_free(data_);
    pcre2_match_context_free(limits_);
}

PatternMatch::Result PatternMatch::match(const Pattern& pattern, std::string_view subject, std::int64_t& steps) {
    left_ = steps;
    at_ = 0;
    caught_ = 0;
    const int groups = pcre2_match(pattern.code_.get(), reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(), 0,
                                   0, data_, limits_);
    steps = left_;
    if (groups == PCRE2_ERROR_NOMATCH) return Result::no;
    if (groups < 0) return Result::too_long;
    caught_ = groups > 0 ? static_cast<std::uint32_t>(groups) : most_groups;
    return Result::yes;
}

std::string PatternMatch::filled_in(std::string_view text, std::string_view subject, std::size_t longest) const {
    const auto* ends = pcre2_get_ovector_pointer(data_);
    std::string out;
    while (!text.empty() && out.size() < longest) {
        const auto [plain, group] = take_piece(text);
        out += plain;
        if (!group || *group >= caught_ || ends[2 * *group] == PCRE2_UNSET) continue;
        out += subject.substr(ends[2 * *group], ends[2 * *group + 1] - ends[2 * *group]);
    }
    return out;
}

std::string filled_in_with(std::string_view text, std::string_view word) {
    std::string out;
    while (!text.empty()) {
        const auto [plain, group] = take_piece(text);
        out += plain;
        if (group) out += word;
    }
    return out;
}

std::uint32_t highest_group(std::string_view text) {
    std::uint32_t highest = 0;
    while (!text.empty()) highest = std::max(highest, static_cast<std::uint32_t>(take_piece(text).group.value_or(0)));
    return highest;
}

} // namespace common
