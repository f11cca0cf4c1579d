// Where mail is stored, and how much is kept free, retained and cleaned up: [spool]. Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include <cstdint>
#include <string>

namespace config {

struct Spool {
    std::string directory = "/var/spool/postrider";
    std::uint64_t minimum_free = 64 * MiB;    // below it: 452 4.3.1
    std::uint32_t minimum_free_inodes = 1024; // below it: 452 4.3.1
    std::uint64_t reserve = 8 * MiB;          // reserved for NDRs
    Duration scrub_interval = 24h;            // every waiting message is re-read this often; 0: never
    std::uint32_t sync_threads = 16;          // concurrent file syncs, per writing process
    std::uint32_t reused_files = 1024;        // that are overwritten for one message after another, per writing process
    std::uint64_t content_memory = 128 * MiB; // of messages being received, per writing process
    Duration bad_age = 24h * 30;              // older files in bad/ are deleted; 0: none are
    std::uint64_t bad_size = 256 * MiB;       // beyond it the oldest are deleted; 0: no limit
    Duration quarantine_age = 24h * 90;
    std::uint64_t quarantine_size = 1024 * MiB; // of each of quarantine/ and quarantine/incomplete/
    Duration removed_age = 1h;                  // how long messages removed by operators can be restored; 0: not at all
    std::uint64_t removed_size = 256 * MiB;     // beyond it the oldest can no longer be restored
};

} // namespace config
