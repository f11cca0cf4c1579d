// The command `postrider import-postfix`: reads the configuration of Postfix in a directory, prints ours, and checks
// it. Changes nothing but the file named for the output.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

// The exit status. `arguments` have one word: the directory.
int import_from_postfix(const Arguments& arguments);

} // namespace postrider
