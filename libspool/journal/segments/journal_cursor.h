// Reads the journal forward, event by event, over all segments, and continues where it stopped when there is more.
// Where a newer segment repeats numbers, the newer one counts.
#pragma once
#include "libspool/journal/journal_line.h"
#include "libspool/journal/segments/segment_blocks.h"
#include <functional>
#include <memory>

namespace spool {

class JournalCursor {
public:
    // The first event read is `from`, or the next one that there is. The disk must outlive it.
    JournalCursor(Disk& disk, std::string directory, std::uint64_t from);

    // Reads on, at most one block, up to event `through`. False: there is nothing more at present. Damage is reported,
    // and reading continues after it.
    Result<bool> read(std::uint64_t through, const std::function<void(const JournalLine&)>& visit,
                      const std::function<void(const Damage&)>& damaged);
    // The number that would be read next.
    std::uint64_t next() const { return next_; }

private:
    Result<bool> find_segment();
    Result<bool> leave_segment();

    Disk& disk_;
    std::string directory_;
    std::uint64_t next_;
    Segment segment_;
    std::unique_ptr<SegmentBlocks> blocks_; // null: to be found
    std::uint64_t block_ = 0;
    std::size_t bad_lines_ = 0; // of that block, reported already
};

} // namespace spool
