// The sections of the configuration that exist once, and the structs for their values.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/config/schema/key.h"
#include <vector>

namespace config {

// In the order of the manual. They point into `config`.
std::vector<Section> fixed_sections(Config& config);

} // namespace config
