// try --client: what the access rules of a listener would say to a client, rule by rule.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int try_client(const Arguments&);

} // namespace postrider
