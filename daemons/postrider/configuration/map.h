// map: compiles, queries and checks lookup tables.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int map(const Arguments&);

} // namespace postrider
