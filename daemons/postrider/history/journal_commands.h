// postrider journal: the state of the journal's files, a check of them, and their lines. Work without any daemon.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int journal_status(const Arguments& arguments);
int journal_verify(const Arguments& arguments);
int journal_cat(const Arguments& arguments);

} // namespace postrider
