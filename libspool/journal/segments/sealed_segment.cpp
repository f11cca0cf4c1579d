#include "libspool/journal/segments/sealed_segment.h"
#include "libspool/journal/journal_line.h"
#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <zstd.h>

namespace spool {

namespace {

constexpr std::size_t largest_block = block_size + longest_line;
constexpr std::string_view frame_magic = "\x28\xB5\x2F\xFD";

Result<std::string> read_whole(Disk& disk, const File& file, std::size_t at_most) {
    const auto size = TRY(disk.size(file));
    std::string bytes(std::min<std::uint64_t>(size, at_most), '\0');
    bytes.resize(TRY(disk.read(file, 0, bytes)));
    return bytes;
}

} // namespace

Result<std::optional<FrameTable>> read_frames(Disk& disk, const std::string& directory, std::uint64_t first) {
    auto file = disk.open(directory + "/" + segment_file(first, frames_suffix), Open::read);
    if (!file && file.error().code == ENOENT) return std::nullopt;
    if (!file) return std::unexpected(file.error());
    return decode_frames(TRY(read_whole(disk, *file, most_frames * 16 + 1024)));
}

Result<std::unique_ptr<SegmentBlocks>> SealedSegment::open(Disk& disk, const std::string& directory,
                                                           std::uint64_t first) {
    auto name = segment_file(first, sealed_suffix);
    auto file = TRY(disk.open(directory + "/" + name, Open::read));
    auto segment = std::make_unique<SealedSegment>(disk, std::move(name), std::move(file));
    TRY(segment->load_table(directory, first));
    return segment;
}

SealedSegment::SealedSegment(Disk& disk, std::string name, File file)
    : disk_(disk), name_(std::move(name)), file_(std::move(file)), decompressor_(ZSTD_createDCtx()) {
    assert(decompressor_ != nullptr);
    text_.resize(largest_block);
}

SealedSegment::~SealedSegment() { ZSTD_freeDCtx(decompressor_); }

Result<> SealedSegment::load_table(const std::string& directory, std::uint64_t first) {
    const auto size = TRY(disk_.size(file_));
    if (auto table = TRY(read_frames(disk_, directory, first)); table && table->size == size) {
        table_ = *std::move(table);
        return {};
    }
    damage_ = Damage{segment_file(first, frames_suffix), 0, "the table of frames is missing or damaged"};
    return find_frames();
}

// Frame by frame. What is none is counted as one, up to the next place where one may begin: it is named when it is
// read.
Result<> SealedSegment::find_frames() {
    table_.size = TRY(disk_.size(file_));
    compressed_.resize(ZSTD_compressBound(largest_block));
    for (std::uint64_t at = 0; at < table_.size && table_.frames.size() < most_frames;) {
        const std::string_view bytes(compressed_.data(), TRY(disk_.read(file_, at, compressed_)));
        if (bytes.empty()) break;
        table_.frames.push_back({.offset = at});
        const auto length = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
        if (bytes.starts_with(frame_magic) && ZSTD_isError(length) == 0) {
            at += length;
            continue;
        }
        const auto next = bytes.find(frame_magic, 1);
        at += next == bytes.npos ? std::max(bytes.size(), frame_magic.size()) - frame_magic.size() + 1 : next;
    }
    for (std::size_t i = 0; i < table_.frames.size(); ++i) {
        const auto text = TRY(read(i)).text;
        const auto line = parse_line(text.substr(0, text.find('\n')));
        table_.frames[i].number = line ? line->number : 0;
    }
    return {};
}

Result<Block> SealedSegment::read(std::uint64_t block) {
    if (block >= table_.frames.size()) return Block{};
    const auto at = table_.frames[block].offset, end = table_.end_of(block);
    const auto damaged = [&](std::string why) { return Block{.damage = Damage{name_, at, std::move(why)}}; };
    if (end - at > ZSTD_compressBound(largest_block)) return damaged("the frame is longer than a frame can be");
    compressed_.resize(end - at);
    const auto size = TRY(disk_.read(file_, at, compressed_));
    if (size < compressed_.size()) return damaged("the file ends in this frame");
    const auto length =
        ZSTD_decompressDCtx(decompressor_, text_.data(), text_.size(), compressed_.data(), compressed_.size());
    if (ZSTD_isError(length) != 0) return damaged(fmt::format("cannot be decompressed: {}", ZSTD_getErrorName(length)));
    return Block{.text = std::string_view(text_.data(), length), .offset = at};
}

Result<std::optional<std::uint64_t>> SealedSegment::first_number(std::uint64_t block) {
    if (block >= table_.frames.size() || table_.frames[block].number == 0) return std::nullopt;
    return table_.frames[block].number;
}

} // namespace spool
