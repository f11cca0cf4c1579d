// The blocks of a sealed segment: the frames of a zstd file, found by its table of frames or, where that is missing or
// damaged, by looking for them.
#pragma once
#include "libspool/journal/segments/frames.h"
#include "libspool/journal/segments/segment_blocks.h"
#include <vector>

struct ZSTD_DCtx_s;

namespace spool {

class SealedSegment final : public SegmentBlocks {
public:
    static Result<std::unique_ptr<SegmentBlocks>> open(Disk& disk, const std::string& directory, std::uint64_t first);
    SealedSegment(Disk& disk, std::string name, File file);
    ~SealedSegment() override;

    Result<std::uint64_t> count() override { return table_.frames.size(); }
    Result<Block> read(std::uint64_t block) override;
    Result<std::optional<std::uint64_t>> first_number(std::uint64_t block) override;
    std::optional<Damage> damage() const override { return damage_; }
    std::optional<Times> times() const override {
        return table_.newest == 0 ? std::nullopt : std::optional(Times{table_.oldest, table_.newest});
    }
    const FrameTable& table() const { return table_; }

private:
    Result<> load_table(const std::string& directory, std::uint64_t first);
    Result<> find_frames();

    Disk& disk_;
    std::string name_;
    File file_;
    ZSTD_DCtx_s* decompressor_;
    FrameTable table_;
    std::optional<Damage> damage_;
    std::vector<char> compressed_, text_;
};

// The table of frames of a sealed segment, as stored. Nothing: missing or damaged.
Result<std::optional<FrameTable>> read_frames(Disk& disk, const std::string& directory, std::uint64_t first);

} // namespace spool
