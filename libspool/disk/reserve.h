// Reserves space: a limit below which no new mail is accepted, and a file of blocks
// that is released when reports and property records would otherwise not fit.
#pragma once
#include "libspool/disk/disk.h"
#include <cstdint>

namespace spool {

struct Floor {
    std::uint64_t bytes = 64 * 1024 * 1024;
    std::uint64_t files = 1000;
};

enum class FreeSpace : std::uint8_t { enough, no_space, no_files };

// Would a message of that size leave the floor standing? A file system that does not count files has enough.
Result<FreeSpace> check_free_space(Disk& disk, const Floor& floor, std::uint64_t size);
// The same for figures at hand (asked for every second or so, not per message).
FreeSpace check_free_space(const Space& space, const Floor& floor, std::uint64_t size);

// index/reserve: preallocated, never read. Owned by the queue-manager.
class Reserve {
public:
    // Makes or completes the file. ENOSPC is no failure: what could be had is kept and the rest tried again.
    static Result<Reserve> open(Disk& disk, std::uint64_t size = 16 * 1024 * 1024);
    // Gives the blocks up for what must be written now. False: there was nothing left.
    Result<bool> release(std::uint64_t bytes);
    // Takes them back when there is space again.
    Result<> restore();
    std::uint64_t held() const { return held_; }

private:
    Reserve(Disk& disk, File file, std::uint64_t size) : disk_(&disk), file_(std::move(file)), size_(size) {}
    Disk* disk_;
    File file_;
    std::uint64_t size_;
    std::uint64_t held_ = 0;
};

} // namespace spool
