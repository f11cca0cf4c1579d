// passwd: the file of users who may authenticate.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int passwd(const Arguments&);

} // namespace postrider
