// Starts a program as a child with nothing but descriptor 3, clean signals and, if asked, fewer rights.
#pragma once
#include "daemons/common/process/privileges.h"
#include "daemons/common/runtime/fd.h"
#include "libspool/disk/result.h"
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace master {

struct Program {
    std::string path;
    std::vector<std::string> arguments;     // argv[1] …
    const common::Identity* user = nullptr; // who to become; null: as we are
    bool may_gain_rights = false;
    bool own_environment = false; // false: a bare one
    int errors = -1;              // its standard error, standard output going nowhere; -1: both are ours
};

struct Spawned {
    pid_t pid;
    common::Fd link; // our end of its descriptor 3
};
spool::Result<Spawned> spawn(const Program& program);

} // namespace master
