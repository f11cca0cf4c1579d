// UNIX stream sockets by path. A path longer than the 108 bytes a socket address holds is reached through its
// directory's descriptor (/proc/self/fd/N/name).
#pragma once
#include "daemons/common/runtime/fd.h"
#include "libspool/disk/result.h"
#include <string>
#include <sys/types.h>
#include <vector>

namespace common {

// Connected and non-blocking; never waits (error EAGAIN when the listener's queue is full).
spool::Result<Fd> connect_local(const std::string& path);

// Bound with exactly this mode, listening, non-blocking. Replaces an existing socket.
spool::Result<Fd> listen_local(const std::string& path, mode_t mode);

struct Credentials {
    uid_t uid = static_cast<uid_t>(-1);
    gid_t gid = static_cast<gid_t>(-1);
    pid_t pid = 0;
    std::vector<gid_t> groups = {}; // supplementary
};
// The process at the other end, as reported by the kernel.
spool::Result<Credentials> peer_credentials(int fd);

} // namespace common
