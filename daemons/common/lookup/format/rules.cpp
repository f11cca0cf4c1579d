#include "daemons/common/lookup/format/rules.h"
#include <fmt/format.h>

namespace tables {

namespace {

constexpr std::int64_t steps_per_key = 5'000'000; // of matching, by all patterns: a tenth of a second
constexpr std::size_t longest_value = 1 << 16;    // after the groups are filled in

std::unexpected<smtp::Malformed> malformed_rule(std::string why) {
    return std::unexpected(smtp::Malformed{std::move(why)});
}

bool is_v4(const common::Network& network) { return network.base.is_v4() && network.bits >= 96; }

// Is `text` the word, alone or before a blank or a condition?
bool takes_word(std::string_view& text, std::string_view word) {
    if (!smtp::starts_with_ignoring_case(text, word)) return false;
    const auto rest = text.substr(word.size());
    if (!rest.empty() && (smtp::is_letter(rest.front()) || smtp::is_digit(rest.front()) || rest.front() == ':'))
        return false;
    text = trimmed(rest);
    return true;
}

} // namespace

std::unique_ptr<const TableContents> RuleTable::read_regexp(std::string_view text) {
    return read(text, [](std::string_view& rest) -> std::expected<decltype(Rule::what), smtp::Malformed> {
        auto pattern = common::Pattern::take(rest);
        if (!pattern) return std::unexpected(std::move(pattern).error());
        return *std::move(pattern);
    });
}

std::unique_ptr<const TableContents> RuleTable::read_cidr(std::string_view text) {
    return read(text, [](std::string_view& rest) -> std::expected<decltype(Rule::what), smtp::Malformed> {
        const auto word = rest.substr(0, rest.find_first_of(" \t"));
        const auto network = common::Network::parse(word);
        if (!network)
            return malformed_rule(
                fmt::format("\"{}\" is not a network such as \"192.0.2.0/24\" or \"2001:db8::/32\" (bits beyond "
                            "the prefix must be zero)",
                            smtp::printable(word, 64)));
        rest.remove_prefix(word.size());
        return *network;
    });
}

std::expected<RuleTable::Rule, smtp::Malformed> RuleTable::rule_of(std::string_view line, Condition take) {
    Rule rule;
    if (takes_word(line, "endif")) {
        rule.step = Step::close;
        rule.value = line;
        return rule;
    }
    if (takes_word(line, "if")) rule.step = Step::open;
    for (; line.starts_with('!'); line = trimmed(line.substr(1))) rule.negated = !rule.negated;
    auto what = take(line);
    if (!what) return std::unexpected(std::move(what).error());
    rule.what = *std::move(what);
    rule.value = trimmed(line);
    if (rule.step == Step::open) return rule;
    if (rule.value.empty()) return malformed_rule("the value is missing");
    const auto* pattern = std::get_if<common::Pattern>(&rule.what);
    if (const auto group = pattern ? common::highest_group(rule.value) : 0; group > 0) {
        if (rule.negated)
            return malformed_rule("\"!\" and $1 cannot be combined: a pattern that does not "
                                  "match captures nothing");
        if (group > pattern->groups())
            return malformed_rule(fmt::format("${}: the pattern has {} groups", group, pattern->groups()));
    }
    return rule;
}

std::unique_ptr<const TableContents> RuleTable::read(std::string_view text, Condition take) {
    auto out = std::make_unique<RuleTable>();
    auto& rules = out->rules_;
    std::vector<std::size_t> open;
    Lines lines(text, out->problems_);
    std::uint32_t number = 0;
    for (std::string line; lines.next(line, number);) {
        auto rule = rule_of(line, take);
        if (!rule) {
            out->problems_.add(number, rule.error().why + "; skipped");
            continue;
        }
        rule->line = number;
        if (rule->step != Step::value && !rule->value.empty()) // as in Postfix: without it, more rules would apply
            out->problems_.add(number, "unexpected text after the condition; ignored");
        if (rule->step == Step::close && open.empty()) {
            out->problems_.add(number, "\"endif\" without \"if\"; skipped");
            continue;
        }
        if (rule->step == Step::open) open.push_back(rules.size());
        if (rule->step == Step::value) ++out->entries_;
        if (rule->step == Step::close) {
            rules[open.back()].end = rules.size();
            open.pop_back();
        }
        rules.push_back(*std::move(rule));
    }
    for (const auto place : open) {
        out->problems_.add(rules[place].line, "\"if\" without \"endif\"; it applies to the end of the file");
        rules[place].end = rules.size();
    }
    return out;
}

void RuleTable::each(const std::function<bool(std::uint32_t, std::string_view)>& take) const {
    for (const auto& rule : rules_)
        if (rule.step == Step::value && !take(rule.line, rule.value)) return;
}

Answer RuleTable::find(std::string_view key) const {
    const auto address = common::IpAddress::parse(key);
    common::PatternMatch match;
    auto steps = steps_per_key;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        const auto& rule = rules_[i];
        if (rule.step == Step::close) continue;
        bool holds = false; // where a rule is of the other family, whether it is negated or not, too
        const auto* pattern = std::get_if<common::Pattern>(&rule.what);
        if (pattern) {
            const auto result = match.match(*pattern, key, steps);
            if (result == common::PatternMatch::Result::too_long)
                return Answer::unavailable(fmt::format("line {}: {} takes too long; simplify the pattern so "
                                                       "that it needs less backtracking",
                                                       rule.line, smtp::printable(pattern->text(), 100)));
            holds = (result == common::PatternMatch::Result::yes) != rule.negated;
        } else {
            if (!address) return {};
            const auto& network = std::get<common::Network>(rule.what);
            holds = is_v4(network) == address->is_v4() && network.contains(*address) != rule.negated;
        }
        if (!holds) {
            if (rule.step == Step::open) i = rule.end; // at its endif, or after the last rule
            continue;
        }
        if (rule.step == Step::open) continue;
        if (!pattern) return Answer::found(rule.value);
        auto value = match.filled_in(rule.value, key, longest_value);
        if (value.empty())
            return Answer::unavailable(fmt::format("line {}: the value is empty for this key", rule.line));
        auto answer = Answer::found(std::move(value));
        if (common::highest_group(rule.value) > 0) {
            answer.written = rule.value;
            answer.line = rule.line;
        }
        return answer;
    }
    return {};
}

} // namespace tables
