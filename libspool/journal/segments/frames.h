// The table of a sealed segment's frames, as it is in its .frames file: where each frame begins, and with which event.
// Bytes and values; FORMAT.md describes them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spool {

struct Frame {
    std::uint64_t number = 0; // of the first event in it; 0: no line of the journal begins there
    std::uint64_t offset = 0; // in the sealed file
    bool operator==(const Frame&) const = default;
};

struct FrameTable {
    std::vector<Frame> frames;
    std::uint64_t size = 0; // of the sealed file: where the last frame ends
    std::uint64_t last = 0; // highest number in the segment; 0: none
    // Times of its events, in seconds since 1970, as sampled at the first event of each frame and at the last of all;
    // 0: unknown.
    std::int64_t oldest = 0, newest = 0;

    std::uint64_t end_of(std::size_t frame) const {
        return frame + 1 < frames.size() ? frames[frame + 1].offset : size;
    }
    bool operator==(const FrameTable&) const = default;
};

std::string encode(const FrameTable& table);
// Nothing: no such table, or its checksum does not match, or offsets do not rise.
std::optional<FrameTable> decode_frames(std::string_view bytes);

// The most frames that a table has: a segment of 4 GiB.
inline constexpr std::size_t most_frames = 16 * 1024;

} // namespace spool
