// Writes the index of one sealed segment. Blocking, for a thread of its own; can be given up between two blocks.
#pragma once
#include "daemons/common/history/index_key.h"
#include "libspool/disk/disk.h"
#include <atomic>
#include <cstdint>
#include <string>

namespace events {

struct IndexedSegment {
    std::uint64_t events = 0;
    bool given_up = false; // nothing was written
};

// `directory` as the disk sees it, `path` as the process does.
spool::Result<IndexedSegment> index_segment(spool::Disk& disk, const std::string& directory, const std::string& path,
                                            std::uint64_t first, const history::IndexHash& hash,
                                            const std::atomic<bool>& give_up);

// The secret of the index keys, made if there is none.
spool::Result<std::string> index_secret(spool::Disk& disk, const std::string& directory, const std::string& random);

} // namespace events
