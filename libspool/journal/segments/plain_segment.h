// The blocks of a segment that is still plain text: the one being written, and those that are not sealed yet.
#pragma once
#include "libspool/journal/segments/segment_blocks.h"
#include <vector>

namespace spool {

class PlainSegment final : public SegmentBlocks {
public:
    static Result<std::unique_ptr<SegmentBlocks>> open(Disk& disk, const std::string& directory, std::uint64_t first);
    PlainSegment(Disk& disk, std::string name, File file);

    Result<std::uint64_t> count() override;
    Result<Block> read(std::uint64_t block) override;
    Result<std::optional<std::uint64_t>> first_number(std::uint64_t block) override;

private:
    Disk& disk_;
    std::string name_;
    File file_;
    std::vector<char> bytes_;
};

} // namespace spool
