#define PCRE2_CODE_UNIT_WIDTH 8
#include "daemons/common/header_checks.h"
#include "libsmtp/address.h"
#include "libspool/edits.h"
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <pcre2.h>

namespace common {

namespace {

using Action = HeaderChecks::Action;

constexpr std::size_t longest_subject = 64 * 1024;   // bytes of a field that are looked at
constexpr std::uint32_t heap_per_match = 4 * 1024;   // KiB
constexpr std::int64_t steps_per_message = 5'000'000; // of matching: a tenth of a second
constexpr std::int64_t least_steps_of_a_rule = 20'000;
constexpr std::size_t longest_text = 4'000;

std::unexpected<smtp::Malformed> malformed(std::string why) {
    return std::unexpected(smtp::Malformed{std::move(why)});
}

struct Word {
    std::string_view name;
    Action action;
};
constexpr Word words[] = {{"dunno", Action::dunno},     {"reject", Action::reject},   {"discard", Action::discard},
                          {"hold", Action::hold},       {"redirect", Action::redirect}, {"warn", Action::warn},
                          {"prepend", Action::prepend}, {"replace", Action::replace}, {"ignore", Action::ignore}};

// Each turns one option over, as in pcre_table(5): matching knows no case, and "." takes line ends.
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

std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

// Is the text one that the action can do something with?
std::string objection(Action action, std::string_view text) {
    if (action == Action::redirect && !smtp::Mailbox::parse(text)) return "REDIRECT needs an address";
    if ((action == Action::prepend || action == Action::replace) && text.find('$') == text.npos &&
        !spool::is_one_field(std::string(text) + "\r\n"))
        return "PREPEND and REPLACE need a header field: \"Name: value\"";
    return "";
}

// The text with $1, ${1} and $(1) replaced by what the groups caught; "$$" is one "$".
std::string filled_in(std::string_view text, std::string_view subject, const std::size_t* ends, std::uint32_t groups) {
    std::string out;
    while (!text.empty() && out.size() < longest_text) {
        if (text.front() != '$' || text.size() == 1) {
            out += text.front();
            text.remove_prefix(1);
            continue;
        }
        text.remove_prefix(1);
        if (text.front() == '$') {
            out += '$';
            text.remove_prefix(1);
            continue;
        }
        const char close = text.front() == '{' ? '}' : text.front() == '(' ? ')' : '\0';
        if (close != '\0') text.remove_prefix(1);
        std::size_t digits = 0;
        while (digits < text.size() && smtp::is_digit(text[digits])) ++digits;
        const auto group = smtp::parse_number(text.substr(0, digits), 99);
        text.remove_prefix(digits);
        if (close != '\0' && text.starts_with(close)) text.remove_prefix(1);
        if (!group || *group >= groups || ends[2 * *group] == PCRE2_UNSET) continue;
        out += subject.substr(ends[2 * *group], ends[2 * *group + 1] - ends[2 * *group]);
    }
    return out;
}

// Line ends as patterns expect them: LF where a field folds, none at its end.
std::string subject_of(std::string_view field) {
    std::string out(field.substr(0, longest_subject));
    std::erase(out, '\r');
    while (out.ends_with('\n')) out.pop_back();
    return out;
}

// Counts what PCRE2 does by its callouts, one before each item of a pattern that is tried: its own limit begins
// anew with each place of the subject, of which a field may have thousands.
struct Matcher {
    pcre2_match_data* data = pcre2_match_data_create(32, nullptr);
    pcre2_match_context* limits = pcre2_match_context_create(nullptr);
    std::int64_t left = 0; // steps the rule may still take
    std::size_t at = 0;    // in the subject, at the last step

    Matcher() {
        pcre2_set_heap_limit(limits, heap_per_match);
        pcre2_set_match_limit(limits, std::numeric_limits<std::uint32_t>::max());
        pcre2_set_callout(
            limits,
            [](pcre2_callout_block* now, void* self) {
                constexpr std::size_t run = 16; // characters taken at one go cost something as well
                auto& [data, limits, left, at] = *static_cast<Matcher*>(self);
                left -= 1 + static_cast<std::int64_t>(now->current_position > at ? (now->current_position - at) / run : 0);
                at = now->current_position;
                return left < 0 ? PCRE2_ERROR_CALLOUT : 0;
            },
            this);
    }
    ~Matcher() {
        pcre2_match_data_free(data);
        pcre2_match_context_free(limits);
    }
    Matcher(const Matcher&) = delete;
};

} // namespace

void HeaderChecks::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

std::expected<HeaderChecks::Rule, smtp::Malformed> HeaderChecks::rule_of(std::string_view line) {
    auto rest = trimmed(line);
    Rule rule;
    if (rest.starts_with('!')) rule.negated = true, rest = trimmed(rest.substr(1));
    const auto is_name = [](char c) { return smtp::is_letter(c) || smtp::is_digit(c); };
    if (rest.empty() || is_name(rest.front()) || rest.front() == '\\')
        return malformed("expected a pattern such as \"/^Subject: .*lottery/\"");
    std::size_t end = 1;
    while (end < rest.size() && rest[end] != rest.front()) end += rest[end] == '\\' ? 2 : 1;
    if (end >= rest.size()) return malformed("the pattern has no end");
    rule.pattern = rest.substr(0, end + 1);
    const auto pattern = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    const auto flags = rest.substr(0, rest.find_first_of(" \t"));
    rest = trimmed(rest.substr(flags.size()));
    const auto options = options_of(flags);
    if (!options) return malformed(fmt::format("odd flags \"{}\": i, m, s, x, A, E, U are known", flags));
    const auto word = rest.substr(0, rest.find_first_of(" \t"));
    const auto known = std::ranges::find_if(words, [&](const Word& w) { return smtp::same_ignoring_case(w.name, word); });
    if (known == std::end(words))
        return malformed(fmt::format("\"{}\" is no action: REJECT, DISCARD, HOLD, REDIRECT, WARN, PREPEND, REPLACE, "
                                     "IGNORE and DUNNO are known",
                                     smtp::printable(word, 40)));
    rule.action = known->action;
    rule.text = trimmed(rest.substr(word.size()));
    if (auto wrong = objection(rule.action, rule.text); !wrong.empty()) return malformed(std::move(wrong));
    int error = 0;
    std::size_t at = 0;
    rule.code = std::shared_ptr<pcre2_real_code_8>(
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), *options | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT,
                      &error, &at, nullptr),
        Free{});
    if (!rule.code) {
        unsigned char why[200];
        pcre2_get_error_message(error, why, sizeof why);
        return malformed(fmt::format("{} at {}", reinterpret_cast<const char*>(why), at));
    }
    return rule;
}

std::expected<HeaderChecks, smtp::Malformed> HeaderChecks::parse(std::span<const std::string> lines) {
    HeaderChecks checks;
    for (const auto& line : lines) {
        auto rule = rule_of(line);
        if (!rule) return std::unexpected(std::move(rule).error());
        checks.rules_.push_back(*std::move(rule));
    }
    return checks;
}

HeaderChecks::Findings HeaderChecks::judge(std::span<const std::string> fields) const {
    Findings out;
    if (rules_.empty()) return out;
    Matcher matcher;
    std::vector<std::int64_t> steps_left(
        rules_.size(), std::max(steps_per_message / static_cast<std::int64_t>(rules_.size()), least_steps_of_a_rule));
    for (std::size_t number = 0; number < fields.size(); ++number) {
        const auto subject = subject_of(fields[number]);
        for (std::size_t i = 0; i < rules_.size(); ++i) {
            const auto& rule = rules_[i];
            if (steps_left[i] < 0) continue;
            matcher.left = steps_left[i];
            matcher.at = 0;
            const int groups = pcre2_match(rule.code.get(), reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(), 0, 0,
                                           matcher.data, matcher.limits);
            steps_left[i] = matcher.left;
            if (groups < 0 && groups != PCRE2_ERROR_NOMATCH) {
                steps_left[i] = -1;
                out.trouble.push_back(
                    fmt::format("header check {}: it takes too long; left out for the rest of this message", rule.pattern));
                continue;
            }
            const bool matches = groups >= 0;
            if (matches == rule.negated) continue;
            if (rule.action != Action::dunno) {
                const auto caught = matches ? pcre2_get_ovector_count(matcher.data) : 0;
                const auto known = matches && groups > 0 ? static_cast<std::uint32_t>(groups) : caught;
                out.found.push_back({number, rule.action,
                                     filled_in(rule.text, subject, pcre2_get_ovector_pointer(matcher.data),
                                               std::min(known, caught))});
            }
            if (rule.action == Action::reject || rule.action == Action::discard) return out;
            break;
        }
    }
    return out;
}

} // namespace common
