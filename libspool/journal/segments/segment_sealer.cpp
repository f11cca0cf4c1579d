#include "libspool/journal/segments/segment_sealer.h"
#include "libsmtp/text/date.h"
#include "libspool/journal/journal_line.h"
#include "libspool/journal/segments/plain_segment.h"
#include "libspool/journal/segments/sealed_segment.h"
#include <algorithm>
#include <cassert>
#include <utility>
#include <zstd.h>

namespace spool {

namespace {

constexpr std::string_view unfinished = ".new"; // after the name, until the file is complete
constexpr int level = 3;

} // namespace

SegmentSealer::SegmentSealer(Disk& disk, std::string directory, std::uint64_t first)
    : disk_(&disk), directory_(std::move(directory)), first_(first), compressor_(ZSTD_createCCtx()) {
    assert(compressor_ != nullptr);
    ZSTD_CCtx_setParameter(compressor_, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(compressor_, ZSTD_c_checksumFlag, 1);
    compressed_.resize(ZSTD_compressBound(block_size + longest_line));
}

SegmentSealer::SegmentSealer(SegmentSealer&& other) noexcept
    : disk_(other.disk_), directory_(std::move(other.directory_)), first_(other.first_), block_(other.block_),
      blocks_(other.blocks_), source_(std::move(other.source_)), rewrite_(std::move(other.rewrite_)),
      sealed_(std::move(other.sealed_)), compressor_(std::exchange(other.compressor_, nullptr)),
      table_(std::move(other.table_)), compressed_(std::move(other.compressed_)) {}

SegmentSealer::~SegmentSealer() { ZSTD_freeCCtx(compressor_); }

Result<SegmentSealer> SegmentSealer::create(Disk& disk, const std::string& directory, std::uint64_t first) {
    SegmentSealer sealer(disk, directory, first);
    sealer.source_ = TRY(PlainSegment::open(disk, directory, first));
    TRY(sealer.begin());
    return sealer;
}

Result<SegmentSealer> SegmentSealer::again(Disk& disk, const std::string& directory, std::uint64_t first,
                                           Rewrite rewrite) {
    SegmentSealer sealer(disk, directory, first);
    sealer.source_ = TRY(SealedSegment::open(disk, directory, first));
    sealer.rewrite_ = std::move(rewrite);
    TRY(sealer.begin());
    return sealer;
}

Result<> SegmentSealer::begin() {
    blocks_ = TRY(source_->count());
    if (blocks_ > most_frames)
        return std::unexpected(Error{EFBIG, segment_file(first_, plain_suffix) + " is too long to be compressed"});
    sealed_ = TRY(disk_->open(path(sealed_suffix) + std::string(unfinished), Open::upsert));
    return disk_->truncate(sealed_, 0);
}

void SegmentSealer::note_time(std::string_view text) {
    const auto line = parse_line(text);
    if (!line) return;
    table_.last = std::max(table_.last, line->number);
    const auto time = time_of(*line).substr(0, 19); // without the fraction
    const auto at = smtp::parse_rfc3339(std::string(time) + "Z");
    if (!at) return;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(at->time_since_epoch()).count();
    table_.oldest = table_.oldest == 0 ? seconds : std::min<std::int64_t>(table_.oldest, seconds);
    table_.newest = std::max<std::int64_t>(table_.newest, seconds);
}

Result<bool> SegmentSealer::step() {
    if (block_ >= blocks_) return false;
    auto text = TRY(source_->read(block_)).text; // what is damaged is not kept
    const auto rewritten = rewrite_ ? rewrite_(text) : std::nullopt;
    if (rewritten) text = *rewritten;
    if (text.size() > block_size + longest_line)
        return std::unexpected(Error{EFBIG, segment_file(first_, sealed_suffix) + ": a frame would become too long"});
    const auto length = ZSTD_compress2(compressor_, compressed_.data(), compressed_.size(), text.data(), text.size());
    assert(ZSTD_isError(length) == 0); // there is room for whatever comes out
    const std::string_view part(compressed_.data(), length);
    TRY(disk_->write(sealed_, table_.size, {{part}}));
    const auto first = parse_line(text.substr(0, text.find('\n')));
    table_.frames.push_back({.number = first ? first->number : 0, .offset = table_.size});
    table_.size += length;
    if (!text.empty()) {
        note_time(text.substr(0, text.find('\n')));
        const auto body = text.substr(0, text.size() - 1);
        note_time(body.substr(body.rfind('\n') + 1)); // npos + 1 is 0
    }
    return ++block_ < blocks_;
}

Result<> SegmentSealer::write_frames() {
    const auto name = path(frames_suffix);
    const auto file = TRY(disk_->open(name + std::string(unfinished), Open::upsert));
    TRY(disk_->truncate(file, 0));
    const auto bytes = encode(table_);
    TRY(disk_->write(file, 0, {{std::string_view(bytes)}}));
    return disk_->sync(file);
}

Result<> SegmentSealer::rename_new(std::string_view suffix) {
    return disk_->rename(path(suffix) + std::string(unfinished), path(suffix));
}

Result<> SegmentSealer::remove(std::string_view suffix) {
    const auto removed = disk_->unlink(path(suffix));
    if (!removed && removed.error().code != ENOENT) return removed;
    return {};
}

Result<> SegmentSealer::sync_directory() { return disk_->sync(TRY(disk_->open(directory_, Open::directory))); }

// The first time, the table goes first: it says nothing while there is no sealed file, and at the rename of that file
// the segment is sealed. The second time, index and table go before the file that they describe is another one: they
// are missed, which costs time, and never wrong.
Result<> SegmentSealer::finish() {
    TRY(disk_->sync(sealed_));
    sealed_.close();
    TRY(write_frames());
    if (rewrite_) {
        source_.reset();
        TRY(remove(index_suffix));
        TRY(remove(frames_suffix));
        TRY(sync_directory()); // or they may be back beside the other file
        TRY(rename_new(sealed_suffix));
        TRY(rename_new(frames_suffix));
    } else {
        TRY(rename_new(frames_suffix));
        TRY(rename_new(sealed_suffix));
    }
    TRY(sync_directory());
    if (rewrite_) return {};
    source_.reset();
    return disk_->unlink(path(plain_suffix));
}

} // namespace spool
