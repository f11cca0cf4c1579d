// What to do when the spool's place does not let us in: said behind the kernel's words.
#pragma once
#include "daemons/common/privileges.h"
#include "libspool/result.h"
#include <optional>
#include <string>

namespace master {

// The same error with whose the directory is, and a command that mends it, where we know one. `service`: whom the
// daemons run as; nothing: whoever we are.
spool::Error advise(spool::Error error, const std::string& directory, const std::optional<common::Identity>& service);

} // namespace master
