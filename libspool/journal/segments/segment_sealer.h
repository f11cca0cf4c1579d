// Compresses a plain segment: each of its blocks becomes a frame of a zstd file, and the table of frames is written
// beside it. Or writes a sealed one again, with other text in its frames. Done step by step, so that the caller can do
// other things in between.
#pragma once
#include "libspool/journal/segments/frames.h"
#include "libspool/journal/segments/segment_blocks.h"
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct ZSTD_CCtx_s;

namespace spool {

class SegmentSealer {
public:
    // The disk must outlive it. `segment` has a plain file that is complete; what a former attempt left is replaced.
    static Result<SegmentSealer> create(Disk& disk, const std::string& directory, std::uint64_t first);
    // `segment` is sealed already. `rewrite`: the text of a frame, whole lines, as it is to be; not longer than it was.
    // Nothing: as it is.
    using Rewrite = std::function<std::optional<std::string>(std::string_view text)>;
    static Result<SegmentSealer> again(Disk& disk, const std::string& directory, std::uint64_t first, Rewrite rewrite);
    SegmentSealer(SegmentSealer&&) noexcept;
    SegmentSealer& operator=(SegmentSealer&&) = delete;
    ~SegmentSealer();

    // Compresses the next block; true: there are more.
    Result<bool> step();
    // Makes both files durable under their names, then removes the plain one; or puts them in the place of the former
    // ones, whose index is removed. To be called when step() returned false.
    Result<> finish();
    const FrameTable& table() const { return table_; }

private:
    SegmentSealer(Disk& disk, std::string directory, std::uint64_t first);
    std::string path(std::string_view suffix) const { return directory_ + "/" + segment_file(first_, suffix); }
    void note_time(std::string_view line);
    Result<> begin();
    Result<> write_frames();
    Result<> rename_new(std::string_view suffix);
    Result<> remove(std::string_view suffix);
    Result<> sync_directory();

    Disk* disk_;
    std::string directory_;
    std::uint64_t first_, block_ = 0, blocks_ = 0;
    std::unique_ptr<SegmentBlocks> source_;
    Rewrite rewrite_; // null: the source is a plain file
    File sealed_;
    ZSTD_CCtx_s* compressor_;
    FrameTable table_;
    std::vector<char> compressed_;
};

} // namespace spool
