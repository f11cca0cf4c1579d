// try: a test delivery up to RCPT, step by step.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int try_address(const Arguments&);

} // namespace postrider
