// dkim-key: a new key for DKIM, and its DNS record.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int dkim_key(const Arguments&);

} // namespace postrider
