#include "libspool/journal/segments/segment_blocks.h"
#include "libspool/journal/segments/plain_segment.h"
#include "libspool/journal/segments/sealed_segment.h"

namespace spool {

Result<std::uint64_t> SegmentBlocks::block_of(std::uint64_t number) {
    std::uint64_t low = 0, high = TRY(count()); // the block sought is in [low, high)
    while (high - low > 1) {
        const auto middle = low + (high - low) / 2;
        // A block in which no line begins states nothing: the next one that states something decides.
        auto asked = middle;
        auto first = TRY(first_number(asked));
        while (!first && asked + 1 < high) first = TRY(first_number(++asked));
        if (first && *first <= number)
            low = asked;
        else
            high = middle;
    }
    return low;
}

Result<std::unique_ptr<SegmentBlocks>> open_segment(Disk& disk, const std::string& directory, const Segment& segment) {
    if (segment.sealed) return SealedSegment::open(disk, directory, segment.first);
    return PlainSegment::open(disk, directory, segment.first);
}

} // namespace spool
