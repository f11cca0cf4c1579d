// Keeps a directory of files set aside (bad/, quarantine/ …) within an age and a size: the oldest are deleted
// first. Knows names, not messages: NAME and NAME.why belong together. Blocking; for a pool's thread.
#pragma once
#include "libspool/disk/real_disk.h"
#include <chrono>
#include <cstdint>
#include <string>

namespace spool {

struct RetentionLimits {
    std::chrono::seconds age{0}; // what has been there for longer goes; 0: nothing does
    std::uint64_t bytes = 0;     // of the disk, all together; 0: no limit
    std::uint64_t at_once = 0;   // deletes at most this many at a time; 0: no limit
};

struct RetentionResult {
    std::uint64_t files = 0, bytes = 0;           // there now
    std::uint64_t removed = 0, removed_bytes = 0; // just now
    bool more = false;                            // others have to go, too
    Error error = {};                             // the last thing that could not be removed; code 0: none
};

// Subdirectories are left alone. A directory that does not exist has nothing.
Result<RetentionResult> enforce_retention(RealDisk& disk, const std::string& directory, const RetentionLimits& limits,
                                          std::chrono::system_clock::time_point now);

} // namespace spool
