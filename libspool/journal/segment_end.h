// The end of a segment that an earlier queue-manager wrote: its last number, what a power cut has damaged before it,
// and which messages it names. Knows how a line starts and ends.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/journal/numbers.h"
#include "libspool/journal/tail.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spool::journal {

struct SegmentEnd {
    std::uint64_t last = 0; // number of the last whole line; 0: there is none
    std::optional<Numbers>
        damaged; // from the first to the last number whose line is not whole, although a later one is
    Tail tail;
};

// `text` starts at the start of a line, or within one that is ignored then; `before`: the number of the line before it,
// if the text starts at the start of a line.
SegmentEnd end_of(std::string_view text, std::optional<std::uint64_t> before);

// Reads `most` bytes at most, and takes what it has read from them. `first`: of the segment.
Result<SegmentEnd> read_end(Disk& disk, const std::string& path, std::uint64_t first, std::size_t& most);

} // namespace spool::journal
