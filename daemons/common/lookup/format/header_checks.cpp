#include "daemons/common/lookup/format/header_checks.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/trim.h"
#include "libspool/format/edits.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace common {

namespace {

using smtp::trimmed;
using Action = HeaderChecks::Action;

constexpr std::size_t longest_subject = 64 * 1024;    // bytes of a field that are examined
constexpr std::int64_t steps_per_message = 5'000'000; // of matching: a tenth of a second
constexpr std::int64_t least_steps_of_a_rule = 20'000;
constexpr std::size_t longest_text = 4'000;

std::unexpected<smtp::Malformed> malformed_check(std::string why) {
    return std::unexpected(smtp::Malformed{std::move(why)});
}

struct Word {
    std::string_view name;
    Action action;
};
constexpr Word words[] = {{"dunno", Action::dunno},     {"reject", Action::reject},     {"discard", Action::discard},
                          {"hold", Action::hold},       {"redirect", Action::redirect}, {"warn", Action::warn},
                          {"prepend", Action::prepend}, {"replace", Action::replace},   {"ignore", Action::ignore}};

// Why the action cannot use the text.
std::optional<std::string> objection(Action action, std::string_view text) {
    if (action == Action::redirect && !smtp::Mailbox::parse(text)) return "REDIRECT needs an address";
    if ((action == Action::prepend || action == Action::replace) && text.find('$') == text.npos &&
        !spool::is_one_field(std::string(text) + "\r\n"))
        return "PREPEND and REPLACE need a header field: \"Name: value\"";
    return std::nullopt;
}

// Line ends as patterns expect them: LF where a field folds, none at its end.
std::string subject_of(std::string_view field) {
    std::string out(field.substr(0, longest_subject));
    std::erase(out, '\r');
    while (out.ends_with('\n')) out.pop_back();
    return out;
}

} // namespace

std::expected<HeaderChecks::Rule, smtp::Malformed> HeaderChecks::rule_of(std::string_view line) {
    auto rest = trimmed(line);
    const bool negated = rest.starts_with('!');
    if (negated) rest = trimmed(rest.substr(1));
    auto pattern = Pattern::take(rest);
    if (!pattern) return std::unexpected(std::move(pattern).error());
    Rule rule{*std::move(pattern), negated, Action::dunno, ""};
    rest = trimmed(rest);
    const auto word = rest.substr(0, rest.find_first_of(" \t"));
    const auto known =
        std::ranges::find_if(words, [&](const Word& w) { return smtp::same_ignoring_case(w.name, word); });
    if (known == std::end(words))
        return malformed_check(fmt::format("\"{}\" is not a valid action: expected REJECT, DISCARD, HOLD, "
                                           "REDIRECT, WARN, PREPEND, REPLACE, IGNORE or DUNNO",
                                           smtp::printable(word, 40)));
    rule.action = known->action;
    rule.text = trimmed(rest.substr(word.size()));
    if (auto wrong = objection(rule.action, rule.text)) return malformed_check(*std::move(wrong));
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

bool HeaderChecks::keeps_mail_out() const {
    return std::ranges::any_of(rules_, [](const Rule& rule) {
        return rule.action == Action::reject || rule.action == Action::discard || rule.action == Action::hold ||
               rule.action == Action::redirect;
    });
}

HeaderChecks::Findings HeaderChecks::check(std::span<const std::string> fields) const {
    Findings out;
    if (rules_.empty()) return out;
    PatternMatch match;
    std::vector<std::int64_t> steps_left(
        rules_.size(), std::max(steps_per_message / static_cast<std::int64_t>(rules_.size()), least_steps_of_a_rule));
    for (std::size_t number = 0; number < fields.size(); ++number) {
        const auto subject = subject_of(fields[number]);
        for (std::size_t i = 0; i < rules_.size(); ++i) {
            const auto& rule = rules_[i];
            if (steps_left[i] < 0) continue;
            const auto result = match.match(rule.pattern, subject, steps_left[i]);
            if (result == PatternMatch::Result::too_long) {
                steps_left[i] = -1;
                out.warnings.push_back(fmt::format(
                    "header check {}: takes too long; skipped for the rest of this message", rule.pattern.text()));
                continue;
            }
            const bool matches = result == PatternMatch::Result::yes;
            if (matches == rule.negated) continue;
            if (rule.action != Action::dunno)
                out.found.push_back({number, rule.action, match.filled_in(rule.text, subject, longest_text)});
            if (rule.action == Action::reject || rule.action == Action::discard) return out;
            break;
        }
    }
    return out;
}

} // namespace common
