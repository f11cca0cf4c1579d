// try: a test delivery up to RCPT, step by step. verify: is an address deliverable, as access rules see it?
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int try_address(const Arguments&);
int verify_address(const Arguments&);

} // namespace postrider
