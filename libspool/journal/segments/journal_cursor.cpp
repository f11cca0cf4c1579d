#include "libspool/journal/segments/journal_cursor.h"
#include "libsmtp/text/text.h"
#include <algorithm>

namespace spool {

namespace {

constexpr std::size_t longest_shown = 80; // of a damaged line

} // namespace

JournalCursor::JournalCursor(Disk& disk, std::string directory, std::uint64_t from)
    : disk_(disk), directory_(std::move(directory)), next_(from) {}

// The segment that has `next_`, or the first one behind it.
Result<bool> JournalCursor::find_segment() {
    const auto segments = TRY(list_segments(disk_, directory_));
    const auto found = std::ranges::find_if(segments, [&](const Segment& each) { return each.end > next_; });
    if (found == segments.end()) return false;
    auto blocks = open_segment(disk_, directory_, *found);
    if (!blocks && blocks.error().code == ENOENT) return false; // sealed or removed in this moment
    if (!blocks) return std::unexpected(blocks.error());
    segment_ = *found;
    blocks_ = *std::move(blocks);
    block_ = TRY(blocks_->block_of(next_));
    return true;
}

// At the end of what the segment has: true if a newer one takes over.
Result<bool> JournalCursor::leave_segment() {
    const auto segments = TRY(list_segments(disk_, directory_));
    const auto newer = std::ranges::find_if(segments, [&](const Segment& each) { return each.first > segment_.first; });
    if (newer == segments.end()) return false;
    // Something may have been appended between the last look and the creation of the newer one.
    if (segment_.end != newer->first) {
        segment_.end = newer->first;
        return true;
    }
    next_ = std::max(next_, newer->first);
    blocks_.reset();
    bad_lines_ = 0;
    return true;
}

Result<bool> JournalCursor::read(std::uint64_t through, const std::function<void(const JournalLine&)>& visit,
                                 const std::function<void(const Damage&)>& damaged) {
    if (next_ > through) return false;
    if (blocks_ == nullptr) {
        if (!TRY(find_segment())) return false;
        if (const auto damage = blocks_->damage()) damaged(*damage);
    }
    const auto count = TRY(blocks_->count());
    if (block_ >= count) return leave_segment();
    const auto block = TRY(blocks_->read(block_));
    bool past = false; // an event that is not to be read yet
    const auto before = next_;
    std::size_t bad_lines = 0;
    for_each_line(
        block.text,
        [&](const JournalLine& line) {
            if (line.number < next_ || line.number >= segment_.end) return;
            if (line.number > through) past = true;
            if (past) return;
            next_ = line.number + 1;
            visit(line);
        },
        [&](std::string_view bad) {
            if (past || ++bad_lines <= bad_lines_) return;
            bad_lines_ = bad_lines;
            damaged({segment_.file(), block.offset, "a line is not an event: " + smtp::printable(bad, longest_shown)});
        });
    if (past) return next_ != before;
    if (block.damage) damaged(*block.damage);
    if (block_ + 1 < count) { // the last block may grow
        ++block_;
        bad_lines_ = 0;
        return true;
    }
    if (next_ != before) return true;
    return leave_segment();
}

} // namespace spool
