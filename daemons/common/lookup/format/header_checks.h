// Regular expressions on the fields of a message's header, and the action for a message that matches: the
// tables of Postfix's header_checks, one rule a line, as far as they are commonly used. Compiled once. Pure:
// fields in, findings out; the work on one message is bounded, however bad a pattern is. Knows no messages.
#pragma once
#include "daemons/common/text/pattern.h"
#include "libsmtp/text/text.h"
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
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
        warn,     // in the log
        prepend,  // the text, a field, before this one
        replace,  // this field by the text
        ignore,   // removes the field
    };
    struct Finding {
        std::size_t field = 0; // number of the field
        Action action = Action::dunno;
        std::string text; // follows the action, with $1 … replaced by what the pattern captured
        bool operator==(const Finding&) const = default;
    };
    struct Findings {
        std::vector<Finding> found;        // in the order of the fields; none after a reject or discard
        std::vector<std::string> warnings; // rules that gave up, for the log
    };

    // "/^Subject: .*lottery/ REJECT no lotteries": each of `lines` is a rule: a pattern between two equal characters,
    // before it "!" for "does not match", after it flags, an action, its text.
    static std::expected<HeaderChecks, smtp::Malformed> parse(std::span<const std::string> lines);

    bool empty() const { return rules_.empty(); }
    // Is there a rule that rejects, discards, holds or redirects messages?
    bool keeps_mail_out() const;
    // Each of `fields` is one whole field with its line ends. For each field the first rule that matches applies.
    Findings check(std::span<const std::string> fields) const;

private:
    struct Rule {
        Pattern pattern;
        bool negated = false;
        Action action = Action::dunno;
        std::string text;
    };
    static std::expected<Rule, smtp::Malformed> rule_of(std::string_view line);
    std::vector<Rule> rules_;
};

} // namespace common
