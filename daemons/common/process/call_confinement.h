// The part of confinement.h that seccomp enforces: system calls, some by their arguments.
// Filters cannot follow pointers, so no call is checked by a path or an address.
#pragma once
#include "daemons/common/process/confinement.h"
#include <string>

namespace common {

// "" or why not. Needs no_new_privs. The process is the only one it may send signals to from now on, so it must be
// called in the process that is to be confined.
std::string confine_calls(const AccessRights& rights);

} // namespace common
