// Examines every message of a spool and verifies every checksum: headers, envelopes,
// property logs, contents, writers' marks. Changes nothing, so it may run beside a
// working MTA. A message that its writer has not finished is not damaged.
#pragma once
#include "libspool/disk/disk.h"
#include <cstdint>
#include <string>
#include <vector>

namespace spool {

struct Finding {
    enum class What : std::uint8_t {
        damaged,    // some byte of it is not what it was
        newer,      // written by a version that says this one must not read it
        unreadable, // the file system refuses it
        foreign,    // no message file's name
    };
    What what = What::damaged;
    std::string path, why;
};

struct SpoolReport {
    std::uint64_t messages = 0, bytes = 0;  // whole ones; of contents
    std::uint64_t unfinished = 0;           // in incoming/: being written, or never finished
    std::uint64_t quarantined = 0, bad = 0; // set aside earlier, with their reasons beside them
    std::vector<Finding> findings;
};

// An error: the spool's directories themselves cannot be read.
Result<SpoolReport> check_spool(Disk& disk);

} // namespace spool
