// Converts Postfix's configuration to a postrider.toml, step by step. Knows both configurations; decides nothing about
// mail.
#pragma once
#include "daemons/import-postfix/import/import.h"

namespace postrider {

// The error: the files are invalid, or a table that they name cannot be read.
postfix::Read<ImportResult> import_postfix(const HostEnvironment& environment);

} // namespace postrider
