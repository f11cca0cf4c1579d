// What the configuration says of recipients' addresses, in the words of their expansion.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/decide/addressing/expansion.h"

namespace common {

decide::ExpansionSettings expansion_settings(const config::Config& config);

} // namespace common
