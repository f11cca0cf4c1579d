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
    auto pattern = Pattern::take(rest);
    if (!pattern) return std::unexpected(std::move(pattern).error());
    Rule rule{*std::move(pattern), {}, smtp::Outcome::deferred, std::string(smtp::trimmed(line))};
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

std::expected<ReplyPatterns, smtp::Malformed> ReplyPatterns::parse(std::span<const std::string> lines) {
    ReplyPatterns out;
    for (const auto& line : lines) {
        auto rule = rule_of(line);
        if (!rule) return std::unexpected(std::move(rule).error());
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
        if (rule.stage && *rule.stage != at) continue;
        const auto result = steps > 0 ? match.match(rule.pattern, reply.substr(0, longest_reply), steps)
                                      : PatternMatch::Result::too_long;
        if (result == PatternMatch::Result::too_long && warning.empty())
            warning = fmt::format("{}: takes too long for the reply \"{}\": skipped", rule.pattern.text(),
                                  smtp::printable(reply, 200));
        if (result == PatternMatch::Result::yes) return Found{i, rule.outcome, rule.text};
    }
    return {};
}

} // namespace common
