// Every value of a table, one after the other, for commands that check a table before it is used
// for mail: lines of a text, entries of a compiled table or of a section, right-hand sides of
// rules, and for an SQLite query its answers for each key in the column that it compares. Blocks,
// and is bounded. Knows no mail, and queries no service: such a table only answers single keys.
#pragma once
#include "daemons/common/config/sections/recipients/lookup.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tables {

struct TableValue {
    std::string_view key; // as written; "" for rules
    std::string_view value;
    std::uint32_t line = 0; // 0: its table has no lines
    bool groups = false;    // contains $1 … for what a pattern captures
};

struct Scan {
    std::size_t examined = 0; // values
    bool whole = true;        // false: there are more
    std::string error;        // why values, or further values, cannot be listed; "": they can
    // "3 values checked", "the first 200000 values checked", "its values cannot be checked: …".
    std::string text() const;
};

inline constexpr std::size_t most_values = 200'000;

// `sections`: the configured [table.NAME]. A file that cannot be read has no values; `error` says why.
Scan each_value(std::string_view table, const std::vector<config::LookupTable>& sections,
                const std::function<void(const TableValue&)>& take, std::size_t most = most_values);

// What is wrong with a text; nullopt: nothing.
using ValueCheck = std::function<std::optional<std::string>(const std::string&)>;
// What is wrong with a value, as `wrong` says it of a text; a value with groups is wrong if it is so with each of a
// word, a domain, an address and a number in their place.
std::optional<std::string> check_value(const TableValue& value, const ValueCheck& wrong);

} // namespace tables
