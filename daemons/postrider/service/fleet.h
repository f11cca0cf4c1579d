// postrider fleet: the nodes that share a store, and whether the store is there.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int show_fleet(const Arguments& arguments);

} // namespace postrider
