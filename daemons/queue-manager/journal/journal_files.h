// The journal's files, as the pool's threads use them: opened when they can be, written by one job at a time. Outlives
// the threads. Knows where the files are; nothing of what lines say.
#pragma once
#include "daemons/common/config/sections/system/history.h"
#include "daemons/common/history/address_hash.h"
#include "libspool/disk/real_disk.h"
#include "libspool/journal/directory.h"
#include "libspool/journal/writer.h"
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace queue_manager {

class JournalFiles {
public:
    // `spool` outlives it.
    JournalFiles(spool::Disk& spool, const config::History& settings) : spool_(spool), settings_(settings) {}
    JournalFiles(const JournalFiles&) = delete;

    // Until it succeeds; then nothing else may be asked for.
    struct Opened {
        spool::journal::Beginning beginning;
        std::optional<history::AddressHash> hash; // if addresses are hashed, or once were
    };
    spool::Result<Opened> open();
    // After open(): as of spool::journal::Writer.
    spool::Result<> append(const spool::journal::Lines& lines, smtp::Monotonic now) {
        if (new_segment_.exchange(false)) writer_->end_segment();
        auto result = writer_->append(lines, now);
        segment_first_ = writer_->segment_first();
        return result;
    }
    spool::Result<> stopped(std::uint64_t last) { return writer_->stopped(last); }
    // From any thread: the lines appended next begin a new segment; which one was begun last.
    void begin_segment() { new_segment_ = true; }
    std::uint64_t segment_first() const { return segment_first_; }

private:
    spool::Disk& spool_;
    const config::History settings_;
    std::unique_ptr<spool::RealDisk> own_; // of a configured directory
    std::unique_ptr<spool::journal::Directory> directory_;
    std::unique_ptr<spool::journal::Writer> writer_;
    std::atomic<bool> new_segment_ = false;
    std::atomic<std::uint64_t> segment_first_ = 0;
};

} // namespace queue_manager
