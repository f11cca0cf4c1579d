// Erases an address from one sealed segment, and from a hook's dead letters. Blocking, for a thread of its own; can be
// given up between two blocks. What it leaves when the process is killed is as readable as before, and the next attempt
// completes it.
#pragma once
#include "daemons/common/history/erasure.h"
#include "libspool/disk/disk.h"
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace events {

struct ErasedSegment {
    std::uint64_t events = 0; // 0: it has none of them, and was left as it is
    bool given_up = false;    // nothing has changed
};

// The index of a segment that was changed is gone; it is made again like any other.
spool::Result<ErasedSegment> erase_from_segment(spool::Disk& disk, const std::string& directory, std::uint64_t first,
                                                const history::Erasure& erasure, const std::atomic<bool>& give_up);

// From all files in dead/; `writing` is held while one is replaced. How many events were erased.
spool::Result<std::uint64_t> erase_from_dead_letters(spool::Disk& disk, const std::string& directory,
                                                     const history::Erasure& erasure, std::mutex& writing);

} // namespace events
