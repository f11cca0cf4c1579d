// Writes the journal's open segment: appends whole batches of lines, makes them durable, and publishes how far that
// goes. A file whose write or sync failed is not touched again: the next one repeats the lines that were not durable.
// One call at a time, on any thread; every call may block. Knows files; nothing of what lines say.
#pragma once
#include "libsmtp/text/time_types.h"
#include "libspool/disk/disk.h"
#include "libspool/journal/directory.h"
#include "libspool/journal/pending_lines.h"
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace spool::journal {

class Writer {
public:
    struct Limits { // of a segment; then another begins
        std::uint64_t bytes = 128 << 20;
        smtp::Duration age = std::chrono::hours(1);
    };
    // All outlive it; `directory.look()` has succeeded.
    Writer(Disk& disk, Directory& directory, const Limits& limits)
        : disk_(disk), directory_(directory), limits_(limits) {}
    Writer(Disk& disk, Directory& directory) : Writer(disk, directory, Limits()) {}

    // On stable storage, and published to readers, when it returns. Error: neither the segment nor a new one could be
    // written; the lines are lost, and the next call begins a new segment.
    Result<> append(const Lines& lines, smtp::Monotonic now);
    // The next lines begin a new segment.
    void end_segment() { segment_.close(); }
    // Number of the first line of the segment that was written to last.
    std::uint64_t segment_first() const { return first_; }
    // For an orderly stop, when all was appended: the next start continues with the next number.
    Result<> stopped(std::uint64_t last);

private:
    Result<> begin(std::uint64_t first, smtp::Monotonic now);
    Result<> write_and_sync(const Lines& lines);
    Result<> to_new_segment(const Lines& lines, smtp::Monotonic now);
    void publish(std::uint64_t last);

    Disk& disk_;
    Directory& directory_;
    const Limits limits_;
    File segment_, synced_;
    std::string name_; // of the segment, last begun
    std::uint64_t first_ = 0, size_ = 0;
    bool name_durable_ = false;
    smtp::Monotonic begun_{};
};

} // namespace spool::journal
