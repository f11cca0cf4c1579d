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
    std::string_view key; // as written; of rules ""
    std::string_view value;
    std::uint32_t line = 0; // 0: its table has no lines
    bool groups = false;    // $1 … stand in it for what a pattern catches
};

struct Scan {
    std::size_t examined = 0; // values
    bool whole = true;        // false: there are more
    std::string error;        // the values cannot be listed, or no further ones; "" they can
    // "3 values looked over", "the first 200000 values looked over", "its values cannot be looked over: …".
    std::string text() const;
};

inline constexpr std::size_t most_values = 200'000;

// `sections`: the [table.NAME] there are. A file that cannot be read has no values: whoever asks the table says why.
Scan each_value(std::string_view table, const std::vector<config::LookupTable>& sections,
                const std::function<void(const TableValue&)>& take, std::size_t most = most_values);

// What is wrong with a text; nullopt: nothing.
using ValueCheck = std::function<std::optional<std::string>(const std::string&)>;
// What is wrong with a value, as `wrong` says it of a text; with groups, if whatever they may catch, a word, a
// domain, an address, a number, it is wrong.
std::optional<std::string> check_value(const TableValue& value, const ValueCheck& wrong);

} // namespace tables
