// Invalid addresses in the files an administrator maintains: alias files, the files they
// include, tables of virtual and canonical addresses. Read once, by commands; the daemons
// report the same when they encounter them. Files that cannot be read from here are skipped.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/lookup/tables/values.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace common {

struct AddressProblem {
    std::string file;
    std::uint32_t line = 0; // 0: the file as a whole
    std::string message;
    std::string text() const; // "/etc/aliases, line 3: a quote is not closed"
    bool operator==(const AddressProblem&) const = default;
};

// Of each file the first twenty.
std::vector<AddressProblem> lint_alias_file(const std::string& path);
// Those of the configuration. One that nobody named and that is not there is none.
std::vector<AddressProblem> lint_alias_files(const config::Config& config);
struct TableLint {
    std::vector<AddressProblem> odd;
    std::optional<tables::Scan> scan; // nothing: its values are no addresses
};
// What `table` answers with as a value of `key` ("virtual_alias.tables"), value by value, as far as they can be listed.
TableLint lint_table(const config::Config& config, std::string_view table, std::string_view key);
// All of these.
std::vector<AddressProblem> lint_addresses(const config::Config& config);

} // namespace common
