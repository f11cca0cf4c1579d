// postrider history: what became of mail, from the journal; works without any daemon.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int history_command(const Arguments& arguments);

} // namespace postrider
