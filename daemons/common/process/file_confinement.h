// The part of confinement.h that Landlock enforces: files, TCP ports,
// and, if the kernel is new enough, signals and abstract sockets.
#pragma once
#include "daemons/common/process/confinement.h"
#include <string>

namespace common {

// "" or why not. Needs no_new_privs.
std::string confine_files(const AccessRights& rights);

} // namespace common
