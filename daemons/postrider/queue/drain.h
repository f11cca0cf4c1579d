// drain: this node takes no mail and is emptied; or how far that has come.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int drain(const Arguments&);

} // namespace postrider
