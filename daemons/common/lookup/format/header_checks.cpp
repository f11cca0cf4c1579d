#include "daemons/common/lookup/format/header_checks.h"
#include "daemons/decide/routing/filter_destination.h"
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

constexpr std::size_t longest_subject = 64 * 1024; // bytes of a field that are examined
// Steps of matching; a million take a fiftieth of a second. A rule needs some ten for a line of honest mail.
constexpr std::int64_t steps_per_subject = 500'000; // of one rule
constexpr std::int64_t steps_per_message = 20'000'000, more_for_a_rule = 250'000;
constexpr std::int64_t steps_of_a_call = 5; // at least
constexpr std::size_t longest_text = 4'000;

std::unexpected<smtp::Malformed> malformed_check(std::string why) {
    return std::unexpected(smtp::Malformed{std::move(why)});
}

struct Word {
    std::string_view name;
    Action action;
};
constexpr Word words[] = {{"dunno", Action::dunno},     {"reject", Action::reject}, {"discard", Action::discard},
                          {"hold", Action::hold},       {"bcc", Action::bcc},       {"redirect", Action::redirect},
                          {"warn", Action::warn},       {"info", Action::info},     {"prepend", Action::prepend},
                          {"replace", Action::replace}, {"ignore", Action::ignore}, {"strip", Action::strip},
                          {"filter", Action::filter}};

bool is_outgoing(HeaderChecks::Use use) {
    return use == HeaderChecks::Use::outgoing_header || use == HeaderChecks::Use::outgoing_body;
}

bool is_of_body(HeaderChecks::Use use) {
    return use == HeaderChecks::Use::body || use == HeaderChecks::Use::outgoing_body;
}

// Too late for these once the message is on its way.
bool is_for_received_mail(Action action) {
    return action == Action::reject || action == Action::discard || action == Action::hold ||
           action == Action::redirect || action == Action::bcc || action == Action::filter;
}

// Why the action cannot use the text.
std::optional<std::string> objection(Action action, std::string_view text, HeaderChecks::Use use) {
    if (is_outgoing(use) && is_for_received_mail(action))
        return "mail that leaves can only be changed: expected PREPEND, REPLACE, IGNORE, STRIP, WARN, INFO or DUNNO";
    if (action == Action::redirect && !smtp::Mailbox::parse(text)) return "REDIRECT needs an address";
    if (action == Action::filter && !decide::filter_destination(text)) // no groups: no sender chooses where it goes
        return fmt::format("FILTER: {}", decide::not_a_filter);
    if (action == Action::bcc && !smtp::Mailbox::parse(text)) return "BCC needs an address";
    if (is_of_body(use)) return std::nullopt;
    if ((action == Action::prepend || action == Action::replace) && text.find('$') == text.npos &&
        !spool::is_one_field(std::string(text) + "\r\n"))
        return "PREPEND and REPLACE need a header field: \"Name: value\"";
    return std::nullopt;
}

// Too serious to be skipped where a pattern takes too long.
bool is_never_skipped(Action action) {
    return action == Action::reject || action == Action::discard || action == Action::hold || action == Action::filter;
}

// Line ends as patterns expect them: LF where a field folds, none at its end.
std::string subject_of(std::string_view field) {
    std::string out(field.substr(0, longest_subject));
    std::erase(out, '\r');
    while (out.ends_with('\n')) out.pop_back();
    return out;
}

} // namespace

std::expected<HeaderChecks::Rule, smtp::Malformed> HeaderChecks::rule_of(std::string_view line, Use use) {
    auto rest = trimmed(line);
    Rule rule{.step = take_block_step(rest)};
    if (rule.step == Step::close) {
        if (!rest.empty()) return malformed_check("unexpected text after \"endif\"");
        return rule;
    }
    rule.negated = rest.starts_with('!');
    if (rule.negated) rest = trimmed(rest.substr(1));
    auto pattern = Pattern::take(rest);
    if (!pattern) return std::unexpected(std::move(pattern).error());
    rule.pattern = *std::move(pattern);
    rest = trimmed(rest);
    if (rule.step == Step::open) {
        if (!rest.empty()) return malformed_check("unexpected text after the pattern of \"if\"");
        return rule;
    }
    const auto word = rest.substr(0, rest.find_first_of(" \t"));
    const auto known =
        std::ranges::find_if(words, [&](const Word& w) { return smtp::same_ignoring_case(w.name, word); });
    if (known == std::end(words))
        return malformed_check(
            fmt::format("\"{}\" is not a valid action: expected REJECT, DISCARD, HOLD, "
                        "REDIRECT, FILTER, BCC, WARN, INFO, PREPEND, REPLACE, IGNORE, STRIP or DUNNO",
                        smtp::printable(word, 40)));
    rule.action = known->action;
    rule.text = trimmed(rest.substr(word.size()));
    if (auto wrong = objection(rule.action, rule.text, use)) return malformed_check(*std::move(wrong));
    return rule;
}

std::expected<HeaderChecks::Step, smtp::Malformed> HeaderChecks::step_of(std::string_view line, Use use) {
    auto rule = rule_of(line, use);
    if (!rule) return std::unexpected(std::move(rule).error());
    return rule->step;
}

std::expected<HeaderChecks, smtp::Malformed> HeaderChecks::parse(std::span<const std::string> lines, Use use) {
    if (const auto blocks = check_blocks(lines); !blocks) return std::unexpected(blocks.error());
    HeaderChecks checks;
    std::vector<std::size_t> open;
    for (const auto& line : lines) {
        auto rule = rule_of(line, use);
        if (!rule) return std::unexpected(std::move(rule).error());
        if (rule->step == Step::open) open.push_back(checks.rules_.size());
        if (rule->step == Step::close) {
            checks.rules_[open.back()].end = checks.rules_.size();
            open.pop_back();
        }
        checks.rules_.push_back(*std::move(rule));
    }
    return checks;
}

bool HeaderChecks::keeps_mail_out() const {
    return std::ranges::any_of(rules_, [](const Rule& rule) {
        return rule.action == Action::reject || rule.action == Action::discard || rule.action == Action::hold ||
               rule.action == Action::redirect || rule.action == Action::filter;
    });
}

bool HeaderChecks::decides_about_mail(std::size_t rule) const {
    const auto end = rules_[rule].step == Step::open ? rules_[rule].end : rule + 1;
    return std::any_of(rules_.begin() + static_cast<std::ptrdiff_t>(rule),
                       rules_.begin() + static_cast<std::ptrdiff_t>(end),
                       [](const Rule& each) { return is_never_skipped(each.action); });
}

std::vector<std::string> HeaderChecks::filters() const {
    std::vector<std::string> out;
    for (const auto& rule : rules_)
        if (rule.action == Action::filter)
            if (auto destination = decide::filter_destination(rule.text)) out.push_back(*std::move(destination));
    return out;
}

HeaderChecks::Run::Run(const HeaderChecks& checks)
    : checks_(checks),
      steps_left_(steps_per_message + more_for_a_rule * static_cast<std::int64_t>(checks.rules_.size())),
      warned_(checks.rules_.size()) {}

std::optional<HeaderChecks::Finding> HeaderChecks::Run::too_long(std::size_t number, std::size_t rule) {
    const auto& text = checks_.rules_[rule].pattern->text();
    if (checks_.decides_about_mail(rule))
        return Finding{number, Action::defer, fmt::format("rule {} takes too long", text)};
    if (!warned_[rule]) {
        warned_[rule] = true;
        warnings_.push_back(fmt::format("header check {}: takes too long; it is skipped where it does", text));
    }
    return std::nullopt;
}

PatternMatch::Result HeaderChecks::Run::match(const Pattern& pattern, std::string_view subject) {
    const auto allowed = std::min(steps_per_subject, steps_left_);
    auto steps = allowed;
    const auto result = allowed > 0 ? match_.match(pattern, subject, steps) : PatternMatch::Result::too_long;
    steps_left_ -= std::max(allowed - std::max<std::int64_t>(steps, 0), steps_of_a_call);
    return result;
}

std::optional<HeaderChecks::Finding> HeaderChecks::Run::check(std::size_t number, std::string_view field) {
    if (field.size() > longest_subject && !std::exchange(warned_of_length_, true))
        warnings_.push_back(fmt::format("header checks: of a field of {} bytes the first {} are examined",
                                        field.size() - (field.ends_with("\r\n") ? 2 : 0), longest_subject));
    const auto subject = subject_of(field);
    for (std::size_t i = 0; i < checks_.rules_.size(); ++i) {
        const auto& rule = checks_.rules_[i];
        if (rule.step == Step::close) continue;
        const auto result = match(*rule.pattern, subject);
        if (result == PatternMatch::Result::too_long)
            if (auto finding = too_long(number, i)) return finding;
        const bool matches = result == PatternMatch::Result::yes;
        if (result == PatternMatch::Result::too_long || matches == rule.negated) {
            if (rule.step == Step::open) i = rule.end;
            continue;
        }
        if (rule.step == Step::open) continue;
        if (rule.action == Action::dunno) return std::nullopt;
        return Finding{number, rule.action, match_.filled_in(rule.text, subject, longest_text)};
    }
    return std::nullopt;
}

HeaderChecks::Findings HeaderChecks::check(std::span<const std::string> fields) const {
    Findings out;
    if (rules_.empty()) return out;
    Run run(*this);
    for (std::size_t number = 0; number < fields.size(); ++number) {
        auto found = run.check(number, fields[number]);
        if (!found) continue;
        out.found.push_back(*std::move(found));
        const auto action = out.found.back().action;
        if (action == Action::reject || action == Action::discard || action == Action::defer) break;
    }
    out.warnings = run.take_warnings();
    return out;
}

} // namespace common
