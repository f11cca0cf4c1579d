// What a daemon may access beyond the descriptors it was given: its row of the architecture's table,
// enforced by the kernel (Landlock for files, seccomp for system calls), permanently. If the kernel lacks
// one, the rest is still enforced and the text says so. Must be called before the process has threads.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/proto/hello.h"
#include <string>
#include <vector>

namespace common {

struct AccessRights {
    std::vector<std::string> read, // files below these, and their names
        look,                      // names only
        write;                     // everything but running programs
    bool files_confined = true, network = true, programs = false;
    bool modes = false;                   // may set the modes of files it has opened
    std::vector<std::uint16_t> tcp_ports; // without `network`: TCP connections to these ports there may be (where the
                                          // kernel tells ports apart: from Linux 6.7 on; else to any)
};

// Of whom? Pure.
AccessRights access_rights_of(proto::Role role, std::uint32_t instance, const config::Config& config);

// What of `wanted` lies beyond `held`: paths and ports a process that was confined to that can never reach. Pure.
std::vector<std::string> missing_rights(const AccessRights& held, const AccessRights& wanted);

// What holds from now on.
struct Confinement {
    std::string text; // in a few words: "files, system calls"; "files; not system calls: …"
    bool files = false, system_calls = false;
    bool is_complete() const { return files && system_calls; }
};
Confinement confine(const AccessRights& rights);

} // namespace common
