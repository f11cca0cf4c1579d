// simulate, import-postfix: commands that are programs of their own, because the administrator's other commands need
// nothing of them.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int run_simulation(const Arguments&);
int import_from_postfix(const Arguments&);

} // namespace postrider
