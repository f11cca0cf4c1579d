// The command `postrider simulate`: a scenario, or the traffic of a mail log, in virtual time with the queue engine and
// this configuration. Sends nothing and does not ask the running Postrider.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

// The exit status.
int run_simulation(const Arguments& arguments);

} // namespace postrider
