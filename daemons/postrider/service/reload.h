// reload: applies a changed configuration, after a look at its effect on queued mail.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int reload(const Arguments&);

} // namespace postrider
