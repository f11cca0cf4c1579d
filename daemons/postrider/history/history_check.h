// postrider history --check: does the journal account for every message, together with what is in the spool. Works
// without any daemon, and beside a working one.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int history_check(const Arguments& arguments);

} // namespace postrider
