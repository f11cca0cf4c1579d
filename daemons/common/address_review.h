// What stands where an address is expected and is none, in the files an administrator keeps: alias files, what they
// include, tables of virtual and canonical addresses. Read through once, by commands; the daemons say the same of what
// they come upon. Files that may not be read from here are passed over.
#pragma once
#include "daemons/common/config/config.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace common {

struct AddressOddity {
    std::string file;
    std::uint32_t line = 0; // 0: the file as a whole
    std::string message;
    std::string text() const; // "/etc/aliases, line 3: a quote is not closed"
    bool operator==(const AddressOddity&) const = default;
};

// Of each file the first twenty.
std::vector<AddressOddity> review_alias_file(const std::string& path);
// Those of the configuration. One that nobody named and that is not there is none.
std::vector<AddressOddity> review_alias_files(const config::Config& config);
// What `table` answers with as a value of `key` ("virtual_alias.tables"), line by line. Only of text: tables; of others,
// and for keys whose values are no addresses, nothing.
std::vector<AddressOddity> review_table(const config::Config& config, std::string_view table, std::string_view key);
// All of these.
std::vector<AddressOddity> review_addresses(const config::Config& config);

} // namespace common
