// How much room a segment takes on the disk, with everything that belongs to it. Knows files, not what is in them.
#pragma once
#include "libspool/disk/real_disk.h"
#include <cstdint>

namespace spool {

// Bytes of all files of the segment that begins with that number, in the disk's own directory.
std::uint64_t size_of_segment(const RealDisk& disk, std::uint64_t first);

} // namespace spool
