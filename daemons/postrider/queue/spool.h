// spool check, export, import: message files, without the queue-manager where possible.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int spool_check(const Arguments&);
int spool_export(const Arguments&);
int spool_import(const Arguments&);

} // namespace postrider
