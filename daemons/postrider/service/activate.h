// activate and deactivate: the standard names, such as /usr/sbin/sendmail, as links to our commands.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int activate(const Arguments&);
int deactivate(const Arguments&);

} // namespace postrider
