// run, start, stop, logs reopen: the commands for the MTA as a whole.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int run(const Arguments&); // in the foreground
int start(const Arguments&);
int stop(const Arguments&);
int logs_reopen(const Arguments&);

} // namespace postrider
