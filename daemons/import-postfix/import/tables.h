// Lookup tables of Postfix in our notation, and lists in which files and tables are named. What cannot be converted is
// noted in the Import at the setting `name`.
#pragma once
#include "daemons/import-postfix/postfix/files.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

class Import;

// Words of a list; names of files and tables are replaced by their contents (the keys of tables).
std::vector<std::string> expanded_list(Import& import, std::string_view name);
// The same, but tables stay named.
std::vector<std::string> list_with_tables(Import& import, std::string_view name);
std::vector<std::string> expanded_list(Import& import, std::string_view name, std::vector<std::string> words);
// The tables that a list names, those in a unionmap one by one; without "proxy:".
std::vector<std::string> tables_of(Import& import, std::string_view name);
// The lookup tables of a list. What has no counterpart becomes a remark.
std::vector<std::string> converted_tables(Import& import, std::string_view name);
// One of them; nothing: it has no counterpart, which is noted.
std::optional<std::string> converted_table(Import& import, std::string_view name, std::string_view word);
// The lines of a table of rules: "regexp:FILE", "pcre:{{/pattern/ value}}", "cidr:FILE"; nothing: another kind of
// table, or a missing file. A file that cannot be read is an error.
std::optional<std::vector<postfix::LogicalLine>> rule_lines(Import& import, std::string_view name,
                                                            std::string_view word);
// The entries of a text table; nothing: it is none, which is noted.
std::optional<std::vector<postfix::Entry>> table_entries(Import& import, std::string_view name, std::string_view word);
// What is on the left and on the right in a table whose text can be read: entries of a text table, rules of one of
// patterns without "if" and "endif", the value of "static:". Nothing: it is none, which is noted.
struct TableLine : postfix::Entry {
    bool has_pattern = false; // on the left, valid or not; $1 may be on the right
    std::string refusal = {}; // why the rule is skipped here
};
std::optional<std::vector<TableLine>> table_lines(Import& import, std::string_view name, std::string_view word);

} // namespace postrider
