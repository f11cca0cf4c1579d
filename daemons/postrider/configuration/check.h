// check: checks the configuration and shows what it would run.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int check(const Arguments&);

} // namespace postrider
