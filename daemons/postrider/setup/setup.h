// setup: is this host fit to send mail for a domain, and which DNS records does the domain need? With --check: are they
// there?
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int setup_domain(const Arguments&);

} // namespace postrider
