// The privileges of a process and those it keeps, set early. Linux only; no policy: callers say when.
#pragma once
#include "libspool/disk/result.h"
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace common {

struct Identity {
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<gid_t> groups; // supplementary
    std::string name, home;
};

// From the user database; may block (NSS).
spool::Result<Identity> look_up_user(const std::string& name);
spool::Result<gid_t> look_up_group(const std::string& name);

// Becomes this user permanently (real, effective and saved); refuses to leave a way back.
spool::Result<> become(const Identity& user);

// No program started from here can gain rights.
spool::Result<> no_new_privileges();

// Descriptors 0, 1 and 2 are open (to /dev/null if they were not).
void keep_standard_descriptors();
// Everything above 2 but `keep` (or `keep` to `last`) is closed.
void close_descriptors_except(int keep, int last = -1);
// All that a daemon started with other rights than ours may know: a fixed PATH, and TZ.
std::vector<std::string> minimal_environment();
// As many descriptors as the hard limit allows.
std::uint64_t raise_descriptor_limit(); // to what it is then
// Few malloc arenas: many small processes must stay small.
void keep_memory_small();
// For who holds secrets: its memory is in no core file, and not for other processes of its user to look into.
void keep_memory_private();
// After a burst: pages between what is still needed go back to the kernel as well.
void give_memory_back();

} // namespace common
