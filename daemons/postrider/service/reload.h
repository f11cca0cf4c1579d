// reload: applies a changed configuration, after checking its effect on queued mail.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int reload(const Arguments&);

} // namespace postrider
