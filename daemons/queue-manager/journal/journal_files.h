// The journal's files, as the pool's threads use them: opened when they can be, written by one job at a time. Outlives
// the threads. Knows where the files are; nothing of what lines say.
#pragma once
#include "libspool/disk/real_disk.h"
#include "libspool/journal/directory.h"
#include "libspool/journal/writer.h"
#include <memory>
#include <string>

namespace queue_manager {

class JournalFiles {
public:
    // `spool` outlives it. `directory`: of the configuration; "": in the spool.
    JournalFiles(spool::Disk& spool, std::string directory) : spool_(spool), configured_(std::move(directory)) {}
    JournalFiles(const JournalFiles&) = delete;

    // Until it succeeds; then nothing else may be asked for.
    spool::Result<spool::journal::Beginning> open();
    // After open(): as of spool::journal::Writer.
    spool::Result<> append(const spool::journal::Lines& lines, smtp::Monotonic now) {
        return writer_->append(lines, now);
    }
    spool::Result<> stopped(std::uint64_t last) { return writer_->stopped(last); }

private:
    spool::Disk& spool_;
    const std::string configured_;
    std::unique_ptr<spool::RealDisk> own_; // of a configured directory
    std::unique_ptr<spool::journal::Directory> directory_;
    std::unique_ptr<spool::journal::Writer> writer_;
};

} // namespace queue_manager
