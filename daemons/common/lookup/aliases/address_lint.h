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

// At most the first twenty of each file.
std::vector<AddressProblem> lint_alias_file(const std::string& path);
// Those of the configuration. A default file that does not exist is not a problem.
std::vector<AddressProblem> lint_alias_files(const config::Config& config);
struct TableLint {
    std::vector<AddressProblem> odd;
    std::optional<tables::Scan> scan; // nothing: its values are not addresses
};
// The values of `table` for the key `key` ("virtual_alias.tables"), one by one, as far as they can be listed.
TableLint lint_table(const config::Config& config, std::string_view table, std::string_view key);
// All of these.
std::vector<AddressProblem> lint_addresses(const config::Config& config);

} // namespace common
