// What is wrong with the files of tables in databases ("mysql:FILE" …), as far as this user may read them: lines for
// warnings. A file that cannot be used harms only the mail that depends on its table.
#pragma once
#include "daemons/common/config/sections/recipients/lookup.h"
#include <string>
#include <vector>

namespace common {

std::vector<std::string> database_file_warnings(const std::vector<config::TableReference>& named);

// A key that such a table looks up, whether it is there or not: for a test of whether the database answers.
std::string test_key_for(const std::string& table);

} // namespace common
