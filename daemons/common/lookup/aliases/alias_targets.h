// The possible targets in an alias file, in a .forward and in an included file: text to targets. Addresses in all
// the forms in which people write them (decide/written_addresses.h), "|command", /file, ~/file, :include:/file,
// \user; quotes around special characters. An invalid target stays in the list as Kind::wrong: mail for it waits.
#pragma once
#include "daemons/decide/addressing/expansion_tables.h"
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

constexpr std::size_t most_alias_problems = 20; // that are kept of one file

// The targets of one line or entry, separated by commas, put behind those there are. `before` stands before the text of
// those that are wrong: "line 12: ".
void append_targets(std::string_view text, std::string_view before, std::vector<decide::AliasTarget>& out);

// What stands behind a name in a compiled alias table; empty: nothing.
std::vector<decide::AliasTarget> parse_targets(std::string_view text);

// What is wrong with a value that a rule fills in with parts of the address asked about ($1 …), which whoever sends the
// mail chooses: they may stand in addresses alone.
std::optional<std::string> wrong_in_rule(std::string_view written);
// What stands there once it is filled in: the targets as they are written, with other addresses. The error says what is
// wrong, wrong_in_rule() included.
std::expected<std::vector<decide::AliasTarget>, std::string> parse_filled_in(std::string_view written,
                                                                             std::string_view filled_in);

// What a .forward or an included file says: targets, separated by commas and ends of lines; '#' for comments.
struct TargetList {
    std::vector<decide::AliasTarget> targets;
    std::vector<AliasProblem> problems; // what is wrong among them

    static TargetList parse(std::string_view text);
};

// Takes one item off `text`, up to `end` (',' or ':') outside of quotes, which are taken off; `ended`: it stood there.
// Nothing if a quote is not closed.
std::optional<std::string> take_item(std::string_view& text, char end, bool& ended);

// Without blanks around it.
std::string_view trimmed_blanks(std::string_view text);

} // namespace common
