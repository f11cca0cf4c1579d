#include "libspool/journal/writer.h"
#include "libspool/journal/names.h"
#include <utility>

namespace spool::journal {

Result<> Writer::append(const Lines& lines, smtp::Monotonic now) {
    if (lines.empty()) return {};
    const bool full = size_ > 0 && size_ + lines.bytes.size() > limits_.bytes;
    if (segment_ && (full || now - begun_ >= limits_.age)) segment_.close();
    if (segment_) {
        if (write_and_sync(lines)) return {};
        return to_new_segment(lines, now);
    }
    if (begin(lines.first, now) && write_and_sync(lines)) return {};
    return to_new_segment(lines, now);
}

Result<> Writer::to_new_segment(const Lines& lines, smtp::Monotonic now) {
    auto written = begin(lines.first, now);
    if (written) written = write_and_sync(lines);
    if (written) return {};
    segment_.close();
    // Nothing in it was published. Where this fails, readers find lines that a gap names.
    static_cast<void>(disk_.unlink(name_));
    return written;
}

Result<> Writer::begin(std::uint64_t first, smtp::Monotonic now) {
    segment_.close();
    const auto name = directory_.file(segment_file(first, segment_suffix));
    // One of this name has no line that was published: its first batch failed.
    if (const auto removed = disk_.unlink(name); !removed && removed.error().code != ENOENT) return removed;
    name_ = name;
    first_ = first;
    segment_ = TRY(disk_.open(name_, Open::create));
    size_ = 0;
    name_durable_ = false;
    begun_ = now;
    return {};
}

Result<> Writer::write_and_sync(const Lines& lines) {
    const std::string_view part = lines.bytes;
    TRY(disk_.write(segment_, size_, {&part, 1}));
    if (name_durable_) {
        TRY(disk_.sync_data(segment_));
    } else {
        TRY(disk_.sync(segment_));
        if (!disk_.file_sync_keeps_name()) TRY(directory_.sync());
        name_durable_ = true;
    }
    size_ += part.size();
    publish(lines.last);
    return {};
}

// Not synced: after a power cut readers see less than there is, until the next call.
void Writer::publish(std::uint64_t last) {
    if (!synced_) {
        auto opened = disk_.open(directory_.file(synced_file), Open::upsert);
        if (!opened) return;
        synced_ = *std::move(opened);
    }
    const auto bytes = encode_mark(synced_magic, last);
    const std::string_view part = bytes;
    if (!disk_.write(synced_, 0, {&part, 1})) synced_.close(); // the next call tries again
}

Result<> Writer::stopped(std::uint64_t last) {
    const auto file = TRY(disk_.open(directory_.file(stopped_file), Open::upsert));
    const auto bytes = encode_mark(stopped_magic, last);
    const std::string_view part = bytes;
    TRY(disk_.write(file, 0, {&part, 1}));
    TRY(disk_.sync(file));
    return directory_.sync();
}

} // namespace spool::journal
