// Regular expressions on the fields of a message's header or the lines of its body, and the action for a message that
// matches: the tables of Postfix's header_checks and body_checks, one rule a line, as far as they are commonly used,
// with "if /pattern/" and "endif" around rules that are tried only where it matches.
// Compiled once. Pure: fields in, findings out; the work on each field and on one message is bounded, however bad a
// pattern is; a rule that keeps mail out and takes too long defers the message. Knows no messages.
#pragma once
#include "daemons/common/lookup/format/condition_blocks.h"
#include "daemons/common/text/pattern.h"
#include "libsmtp/text/text.h"
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace common {

class HeaderChecks {
public:
    enum class Action : std::uint8_t {
        dunno,    // nothing: the rest of the table is skipped for this field
        reject,   // the message
        discard,  // the message: accepted and discarded
        hold,     // the message
        redirect, // the message, to the address in the text instead of its recipients
        filter,   // the message, through that content filter behind the queue first
        warn,     // in the log
        prepend,  // the text, a field or line, before this one
        replace,  // this field or line by the text
        ignore,   // removes the field or line
        strip,    // removes it, and logs that
        info,     // in the log, as information
        bcc,      // the message, to the address in the text as well
        defer,    // the message: no rule's own; a rule that keeps mail out took too long
    };
    // What the rules are for.
    enum class Use : std::uint8_t {
        header,          // of mail that is received
        body,            // lines of its body
        outgoing_header, // of mail that is sent: it can be changed, but it is too late to refuse it
        outgoing_body,
    };
    struct Finding {
        std::size_t field = 0; // number of the field
        Action action = Action::dunno;
        std::string text; // follows the action, with $1 … replaced by what the pattern captured
        bool operator==(const Finding&) const = default;
    };
    struct Findings {
        std::vector<Finding> found;        // in the order of the fields; none after a reject, discard or defer
        std::vector<std::string> warnings; // rules that gave up, for the log
    };

    // "/^Subject: .*lottery/ REJECT no lotteries": each of `lines` is a rule: a pattern between two equal characters,
    // before it "!" for "does not match", after it flags, an action, its text.
    static std::expected<HeaderChecks, smtp::Malformed> parse(std::span<const std::string> lines,
                                                              Use use = Use::header);

    using Step = BlockStep;
    // What a single line is, wherever it stands.
    static std::expected<Step, smtp::Malformed> step_of(std::string_view line, Use use);

    bool empty() const { return rules_.empty(); }
    // Is there a rule that rejects, discards, holds, redirects or filters messages?
    bool keeps_mail_out() const;
    // The destinations of FILTER, as decide::filter_destination() has them.
    std::vector<std::string> filters() const;
    // Each of `fields` is one whole field with its line ends. For each field the first rule that matches applies.
    Findings check(std::span<const std::string> fields) const;

    // The rules on one message, piece by piece: each rule within a bound for each piece, and all of them within one.
    class Run {
    public:
        // `checks` must outlive it.
        explicit Run(const HeaderChecks& checks);
        // The first rule that matches a field with its line ends, or a line without; nothing: none does, or DUNNO.
        // "defer": whether one that rejects, discards or holds would match was not found out.
        std::optional<Finding> check(std::size_t number, std::string_view field);
        // Rules that gave up since the last call, for the log.
        std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

    private:
        std::optional<Finding> too_long(std::size_t number, std::size_t rule);
        PatternMatch::Result match(const Pattern& pattern, std::string_view subject);
        const HeaderChecks& checks_;
        PatternMatch match_;
        std::int64_t steps_left_;  // of all rules, for the rest of the message
        std::vector<bool> warned_; // of each rule
        bool warned_of_length_ = false;
        std::vector<std::string> warnings_;
    };

private:
    struct Rule {
        Step step = Step::rule;
        std::optional<Pattern> pattern; // nothing: close
        bool negated = false;
        Action action = Action::dunno;
        std::string text;
        std::size_t end = 0; // open: the place of its endif
    };
    static std::expected<Rule, smtp::Malformed> rule_of(std::string_view line, Use use);
    // Does this rule, or one that depends on it, keep mail out for as long as it is not known whether it matches?
    bool decides_about_mail(std::size_t rule) const;
    std::vector<Rule> rules_;
};

} // namespace common
