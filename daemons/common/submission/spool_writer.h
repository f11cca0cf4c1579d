// A writer's access to the spool (smtpd, pickup, bounce): queue ids, the commit pool, the memory for messages
// being received, and the decision whether more mail can be accepted. After a write or sync has failed no new mail
// is accepted until a test file, written every few seconds, is durable. Must not know where messages come from.
#pragma once
#include "daemons/common/config/sections/system/spool.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/wake.h"
#include "libsmtp/text/time_types.h"
#include "libspool/disk/commit_pool.h"
#include "libspool/disk/real_disk.h"
#include "libspool/disk/reserve.h"
#include "libspool/message/content_memory.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/queue_id_source.h"
#include <cerrno>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace common {

// Why no mail can be taken now.
enum class Unavailable : std::uint8_t {
    full,    // the disk
    broken,  // the spool cannot be written
    memory,  // what is under way uses all that there may be
    refused, // by the queue-manager
};

class SpoolWriter {
public:
    using ReportProblem = std::function<void(std::string_view)>; // for `postrider status`; "" clears it

    // `settings`: the floor below which it says `full`, and how many threads write.
    // What is taken is counted in `metrics`, as of `source`.
    static spool::Result<std::unique_ptr<SpoolWriter>> open(Loop& loop, Log& log, const config::Spool& settings,
                                                            std::uint8_t slot, ReportProblem report_problem,
                                                            Metrics& metrics, MailSource source);
    SpoolWriter(const SpoolWriter&) = delete;

    ~SpoolWriter();

    // A queue id for a message of about `size` bytes (0: not known), or why there is none now.
    std::expected<spool::QueueId, Unavailable> admit(std::uint64_t size, smtp::Now now);
    // `envelope` is complete.
    spool::MessageWriter write(spool::QueueId id, const spool::Envelope& envelope);
    // Sees what became of it before `done` does.
    void commit(spool::MessageWriter& writer, spool::MessageWriter::Done done);
    // What a commit failed of.
    static Unavailable unavailable_after(const spool::Error& error) {
        const bool means = error.code == EMFILE || error.code == ENFILE || error.code == ENOMEM;
        return spool::is_out_of_space(error) ? Unavailable::full : means ? Unavailable::memory : Unavailable::broken;
    }

    void reconfigure(const config::Spool& settings) {
        floor_ = {settings.minimum_free, settings.minimum_free_inodes};
        memory_.set_limit(settings.content_memory);
    }
    // The queue-manager wants no mail to be taken, and why; "" it does.
    void refuse(std::string why) {
        refused_ = std::move(why);
        report_status();
    }
    // Told whenever it changes why no mail can be taken; "" it can. Of the queue-manager's `accepting`.
    void on_status_change(std::function<void(const std::string& obstacle)> on_change) {
        on_status_change_ = std::move(on_change);
    }
    spool::ContentMemory& memory() { return memory_; }
    spool::ReusableFiles& reusable_files() { return reusable_files_; }
    // Called every second while memory is scarce.
    void on_scarcity(std::function<void()> scarce) { scarce_ = std::move(scarce); }
    // Says in the log and in the status how it stands with that.
    void check_memory();
    std::uint64_t outstanding() const { return pool_.outstanding(); }
    spool::RealDisk& disk() { return *disk_; }
    spool::CommitPool& pool() { return pool_; } // for other work on the same disk

private:
    SpoolWriter(Loop& loop, Log& log, const config::Spool& settings, std::unique_ptr<spool::RealDisk> disk,
                ReportProblem report_problem, Metrics& metrics, MailSource source);
    spool::Result<> open_directory();
    void failed(const spool::Error& error);
    void close(const spool::Error& error);
    void write_succeeded();
    void try_again();
    void report_status();

    Log& log_;
    ReportProblem report_problem_;
    Metrics& metrics_;
    const MailSource source_;
    spool::Floor floor_;
    std::unique_ptr<spool::RealDisk> disk_;
    spool::ContentMemory memory_;
    std::vector<std::unique_ptr<spool::SharedDirectory>> directories_; // the last is in use; broken ones before it
    Wake wake_;
    spool::ReusableFiles reusable_files_;
    spool::CommitPool pool_;
    std::unique_ptr<spool::QueueIdSource> ids_;
    std::uint8_t slot_ = 0;
    std::optional<spool::Space> space_;
    smtp::Monotonic looked_;                           // when space_ was asked for
    bool full_ = false;                                // said so in the log
    std::optional<smtp::Monotonic> closed_until_;      // after a failure; then one is tried
    std::string broken_;                               // what failed; "" nothing
    std::string refused_;                              // by the queue-manager; "" not
    std::string reported_obstacle_, reported_problem_; // by on_status_change_ and report_problem_
    spool::ContentMemory::Level logged_memory_level_ = spool::ContentMemory::Level::plenty; // in the log
    std::function<void(const std::string&)> on_status_change_;
    std::function<void()> scarce_;
    Timer again_; // while it is closed or memory is short
};

} // namespace common
