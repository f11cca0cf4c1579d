// top: the status page, updated continuously.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int top(const Arguments&);

} // namespace postrider
