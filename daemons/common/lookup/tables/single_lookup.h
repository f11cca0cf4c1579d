// One key asked of a lookup table at once, for who may block and has no loop: threads of local. The file is read for it.
// Not for services, which answer only Tables.
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
