// Regular expressions on the replies of servers that mail is sent to, and what such a reply is taken for: "/greylisted/
// at RCPT is temporary"; with "if /pattern/" and "endif" around rules that are tried only where it matches. Compiled
// once. Pure: a reply in, a rule out; the work on each reply is bounded, however bad a pattern is.
#pragma once
#include "daemons/common/lookup/format/condition_blocks.h"
#include "daemons/common/text/pattern.h"
#include "libsmtp/delivery/outcome.h"
#include "libsmtp/delivery/stage.h"
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace common {

class ReplyPatterns {
public:
    // Each of `lines` is a rule: a pattern between two equal characters, before it "!" for "does not match", flags,
    // "at" and a stage (MAIL, RCPT, DATA, END) or nothing for all of them, "is temporary" or "is permanent".
    static std::expected<ReplyPatterns, smtp::Malformed> parse(std::span<const std::string> lines);
    // What a single line is, wherever it stands.
    static std::expected<BlockStep, smtp::Malformed> step_of(std::string_view line);

    struct Found {
        std::size_t number = 0;  // of the rule
        smtp::Outcome outcome{}; // deferred or failed
        std::string rule;        // "/greylisted/ at RCPT is temporary"
    };
    bool empty() const { return rules_.empty(); }
    // The first rule that matches the reply, "550 5.7.1 Access denied". Rules that took too long are named in
    // `warning`.
    std::optional<Found> find(smtp::Stage stage, std::string_view reply, std::string& warning) const;

private:
    struct Rule {
        BlockStep step = BlockStep::rule;
        std::optional<Pattern> pattern; // nothing: close
        bool negated = false;
        std::optional<smtp::Stage> stage; // nothing: any
        smtp::Outcome outcome = smtp::Outcome::deferred;
        std::string text;
        std::size_t end = 0; // open: the place of its endif
    };
    static std::expected<Rule, smtp::Malformed> rule_of(std::string_view line);
    std::vector<Rule> rules_;
};

} // namespace common
