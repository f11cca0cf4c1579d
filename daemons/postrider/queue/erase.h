// history erase: an address is erased from the journal, with what is kept of failed mail that names it.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int history_erase(const Arguments& arguments);

} // namespace postrider
