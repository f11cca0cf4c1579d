// A segment as a sequence of blocks of whole lines. Block K is made of the lines that begin in bytes [K, K + 1) × 256
// KiB of the plain file; sealed, each block is a frame of its own. So the blocks of a segment are the same before and
// after it is sealed, and each can be read alone. Knows lines and files, not what lines say.
#pragma once
#include "libspool/journal/segments/segment_list.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace spool {

inline constexpr std::size_t block_size = 256 * 1024;

// A place in a segment that cannot be read; the rest can.
struct Damage {
    std::string file;
    std::uint64_t offset = 0; // in that file
    std::string why;
};

struct Block {
    std::string_view text;    // until the next call; lines with their ends. An unfinished last line is left out
    std::uint64_t offset = 0; // in the file: of the text, or of the frame that has it
    std::optional<Damage> damage;
};

class SegmentBlocks {
public:
    virtual ~SegmentBlocks() = default;
    // How many there are now: a plain segment grows.
    virtual Result<std::uint64_t> count() = 0;
    // Damage is part of the block. An error is one of the disk.
    virtual Result<Block> read(std::uint64_t block) = 0;
    // The number of the first event in a block; nothing: no line begins there, or it is damaged.
    virtual Result<std::optional<std::uint64_t>> first_number(std::uint64_t block) = 0;
    // Whether something is wrong with the whole of it, such as a missing table of frames.
    virtual std::optional<Damage> damage() const { return {}; }
    // When its events were written, in seconds since 1970, give or take a minute; nothing: not known.
    struct Times {
        std::int64_t oldest = 0, newest = 0;
    };
    virtual std::optional<Times> times() const { return {}; }
    // The block to begin with when looking for event `number`: 0 if it is before the first.
    Result<std::uint64_t> block_of(std::uint64_t number);
};

// The disk must outlive it.
Result<std::unique_ptr<SegmentBlocks>> open_segment(Disk& disk, const std::string& directory, const Segment& segment);

} // namespace spool
