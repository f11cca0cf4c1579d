#include "daemons/common/lookup/format/reply_rules.h"
#include "libsmtp/text/trim.h"
#include <algorithm>
#include <fmt/format.h>

namespace common {

namespace {

using smtp::Stage;

constexpr std::int64_t steps_per_reply = 5'000'000; // of matching, by all rules: a tenth of a second
constexpr std::size_t longest_reply = 4096;
constexpr std::pair<std::string_view, Stage> reply_stages[] = {
    {"MAIL", Stage::mail}, {"RCPT", Stage::rcpt}, {"DATA", Stage::data}, {"END", Stage::final_dot}};

std::string_view first_word_of(std::string_view& text) {
    text = smtp::trimmed(text);
    const auto word = text.substr(0, text.find_first_of(" \t"));
    text = smtp::trimmed(text.substr(word.size()));
    return word;
}

} // namespace

std::expected<ReplyPatterns::Rule, smtp::Malformed> ReplyPatterns::rule_of(std::string_view line) {
    constexpr std::string_view expected = "expected \"at MAIL\", \"at RCPT\", \"at DATA\" or \"at END\" after the "
                                          "pattern, or nothing, and then \"is temporary\" or \"is permanent\"";
    auto rest = smtp::trimmed(line);
    Rule rule{.step = take_block_step(rest), .text = std::string(smtp::trimmed(line))};
    if (rule.step == BlockStep::close) {
        if (!rest.empty()) return std::unexpected(smtp::Malformed{"unexpected text after \"endif\""});
        return rule;
    }
    for (; rest.starts_with('!'); rest = smtp::trimmed(rest.substr(1))) rule.negated = !rule.negated;
    auto pattern = Pattern::take(rest);
    if (!pattern) return std::unexpected(std::move(pattern).error());
    rule.pattern = *std::move(pattern);
    if (rule.step == BlockStep::open) {
        if (!smtp::trimmed(rest).empty())
            return std::unexpected(smtp::Malformed{"unexpected text after the pattern of \"if\""});
        return rule;
    }
    auto word = first_word_of(rest);
    if (word == "at") {
        const auto name = first_word_of(rest);
        const auto* stage = std::ranges::find(reply_stages, name, [](const auto& each) { return each.first; });
        if (stage == std::end(reply_stages)) return std::unexpected(smtp::Malformed{std::string(expected)});
        rule.stage = stage->second;
        word = first_word_of(rest);
    }
    const auto severity = first_word_of(rest);
    if (word != "is" || (severity != "temporary" && severity != "permanent") || !rest.empty())
        return std::unexpected(smtp::Malformed{std::string(expected)});
    if (severity == "permanent") rule.outcome = smtp::Outcome::failed;
    return rule;
}

std::expected<BlockStep, smtp::Malformed> ReplyPatterns::step_of(std::string_view line) {
    auto rule = rule_of(line);
    if (!rule) return std::unexpected(std::move(rule).error());
    return rule->step;
}

std::expected<ReplyPatterns, smtp::Malformed> ReplyPatterns::parse(std::span<const std::string> lines) {
    if (const auto blocks = check_blocks(lines); !blocks) return std::unexpected(blocks.error());
    ReplyPatterns out;
    std::vector<std::size_t> open;
    for (const auto& line : lines) {
        auto rule = rule_of(line);
        if (!rule) return std::unexpected(std::move(rule).error());
        if (rule->step == BlockStep::open) open.push_back(out.rules_.size());
        if (rule->step == BlockStep::close) {
            out.rules_[open.back()].end = out.rules_.size();
            open.pop_back();
        }
        out.rules_.push_back(*std::move(rule));
    }
    return out;
}

std::optional<ReplyPatterns::Found> ReplyPatterns::find(Stage stage, std::string_view reply,
                                                        std::string& warning) const {
    if (rules_.empty() || reply.empty()) return {};
    const auto at = stage == Stage::content ? Stage::final_dot : stage;
    if (std::ranges::find(reply_stages, at, [](const auto& each) { return each.second; }) == std::end(reply_stages))
        return {};
    PatternMatch match;
    auto steps = steps_per_reply;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        const auto& rule = rules_[i];
        if (rule.step == BlockStep::close || (rule.stage && *rule.stage != at)) continue;
        const auto result = steps > 0 ? match.match(*rule.pattern, reply.substr(0, longest_reply), steps)
                                      : PatternMatch::Result::too_long;
        const bool too_long = result == PatternMatch::Result::too_long;
        if (too_long && warning.empty())
            warning = fmt::format("{}: takes too long for the reply \"{}\": skipped", rule.pattern->text(),
                                  smtp::printable(reply, 200));
        const bool holds = !too_long && (result == PatternMatch::Result::yes) != rule.negated;
        if (holds && rule.step == BlockStep::rule) return Found{i, rule.outcome, rule.text};
        if (!holds && rule.step == BlockStep::open) i = rule.end;
    }
    return {};
}

} // namespace common
