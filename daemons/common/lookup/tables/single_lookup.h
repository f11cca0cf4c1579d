// A single lookup of a key in a table, for callers that may block and have no loop: threads
// of local. The file is read for it. Not for services, which only Tables can query.
#pragma once
#include "daemons/common/config/sections/recipients/lookup.h"
#include "daemons/common/lookup/format/answer.h"
#include <string_view>
#include <vector>

namespace tables {

// A service's: is `table` one, by itself or by its section?
bool is_service(std::string_view table, const std::vector<config::LookupTable>& sections);

// Never not_yet; of a service unavailable.
Answer look_up_once(std::string_view table, const std::vector<config::LookupTable>& sections, std::string_view key);

} // namespace tables
