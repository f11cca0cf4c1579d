// suppress add … check: the list of recipients to which no mail is sent.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int suppress_add(const Arguments&);
int suppress_remove(const Arguments&);
int suppress_list(const Arguments&);
int suppress_import(const Arguments&);
int suppress_check(const Arguments&);

} // namespace postrider
