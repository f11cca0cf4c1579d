// Which file system the spool is on, and how reliable a sync is there. Knows names and warnings only.
#pragma once
#include "libspool/disk/result.h"
#include <cstdint>
#include <string>

namespace spool {

enum class Durability : std::uint8_t {
    tested, // cut power and looked
    likely, // a local file system that keeps what POSIX says, not tried
    weak,   // network or layered: a sync may mean less than it says
    none,   // memory: nothing survives
};

struct FileSystem {
    std::string name; // "ext4", "tmpfs", "0x12345678"
    Durability durability = Durability::likely;
    std::string warning; // one line for log and status; "" for none
};

// By statfs's magic number.
FileSystem file_system_of(std::uint64_t magic);
// Of the open directory.
Result<FileSystem> file_system_at(int directory_descriptor);

} // namespace spool
