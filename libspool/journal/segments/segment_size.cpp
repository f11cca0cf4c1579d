#include "libspool/journal/segments/segment_size.h"
#include "libspool/journal/segments/segment_list.h"
#include <fcntl.h>
#include <sys/stat.h>

namespace spool {

std::uint64_t size_of_segment(const RealDisk& disk, std::uint64_t first) {
    constexpr std::uint64_t block = 512; // of st_blocks, whatever the file system's own are
    std::uint64_t bytes = 0;
    for (const auto suffix : {plain_suffix, sealed_suffix, frames_suffix, index_suffix}) {
        struct stat facts{};
        if (::fstatat(disk.directory(), segment_file(first, suffix).c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0)
            bytes += static_cast<std::uint64_t>(facts.st_blocks) * block;
    }
    return bytes;
}

} // namespace spool
