// What is wrong with the files of tables in databases ("mysql:FILE" …), as far as this user may read them: lines for
// warnings. A file that cannot be used harms only the mail that depends on its table.
#pragma once
#include "daemons/common/config/sections/recipients/lookup.h"
#include <string>
#include <vector>

namespace common {

std::vector<std::string> database_file_warnings(const std::vector<config::TableReference>& named);

} // namespace common
