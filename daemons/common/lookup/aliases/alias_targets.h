// The possible targets in an alias file, in a .forward and in an included file: text to targets. Addresses in all
// the forms in which people write them (decide/written_addresses.h), "|command", /file, ~/file, :include:/file,
// \user; quotes around special characters. An invalid target stays in the list as Kind::wrong: mail for it waits.
#pragma once
#include "daemons/decide/rewriting/expansion_tables.h"
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace common {

struct AliasProblem {
    std::uint32_t line = 0;
    std::string message;
    bool operator==(const AliasProblem&) const = default;
};

constexpr std::size_t most_alias_problems = 20; // kept per file

// Appends the targets of one line or entry, separated by commas. `before` ("line 12: ") precedes the text of invalid
// ones.
void append_targets(std::string_view text, std::string_view before, std::vector<decide::AliasTarget>& out);

// The targets of a name in a compiled alias table; empty: none.
std::vector<decide::AliasTarget> parse_targets(std::string_view text);

// What is wrong with a value in which a rule fills in parts of the address looked up ($1 …). The sender of the mail
// chooses these, so they are allowed only in addresses.
std::optional<std::string> wrong_in_rule(std::string_view written);
// The targets once it is filled in: those of `written`, with other addresses. The error says what is wrong,
// wrong_in_rule() included.
std::expected<std::vector<decide::AliasTarget>, std::string> parse_filled_in(std::string_view written,
                                                                             std::string_view filled_in);

// The content of a .forward or an included file: targets, separated by commas and line ends; '#' for comments.
struct TargetList {
    std::vector<decide::AliasTarget> targets;
    std::vector<AliasProblem> problems; // of the invalid targets

    static TargetList parse(std::string_view text);
};

// Removes one item from `text`, up to `end` (',' or ':') outside of quotes, and unquotes it; `ended`: whether `end` was
// found. Nothing if a quote is not closed.
std::optional<std::string> take_item(std::string_view& text, char end, bool& ended);

// Without blanks around it.
std::string_view trimmed_blanks(std::string_view text);

} // namespace common
