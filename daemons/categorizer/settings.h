// What the configuration says of addresses, in the expansion's words. Pure.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/decide/addressing/expansion.h"
#include <memory>

namespace categorizer {

decide::ExpansionSettings settings_of(std::shared_ptr<const config::Config> config);

} // namespace categorizer
