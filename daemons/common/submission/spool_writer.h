// A writer's way into the spool (smtpd, pickup, bounce): queue ids, the commit pool, the memory for what is under way,
// and the judgement whether more mail can be taken. After a write or sync has failed no new mail is taken until a file
// written as a trial, every few seconds, is durable. Must not know where messages come from.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/wake.h"
#include "libsmtp/text/time_types.h"
#include "libspool/disk/commit_pool.h"
#include "libspool/message/content_memory.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/queue_id_source.h"
#include "libspool/disk/real_disk.h"
#include "libspool/disk/reserve.h"
#include <cerrno>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace common {

// Why no mail can be taken now.
enum class Shut : std::uint8_t {
    full,     // the disk
    broken,   // the spool cannot be written
    memory,   // what is under way uses all that there may be
};

class Intake {
public:
    using Trouble = std::function<void(std::string_view)>; // for `postrider status`; "" clears it

    // `settings`: the floor below which it says `full`, and how many threads write.
    // What is taken is counted in `figures`, as of `source`.
    static spool::Result<std::unique_ptr<Intake>> open(Loop& loop, Log& log, const config::Spool& settings,
                                                       std::uint8_t slot, Trouble trouble, Figures& figures,
                                                       Source source);
    Intake(const Intake&) = delete;

    ~Intake();

    // A queue id for a message of about `size` bytes (0: not known), or why there is none now.
    std::expected<spool::QueueId, Shut> admit(std::uint64_t size, smtp::Now now);
    // `envelope` is complete.
    spool::MessageWriter write(spool::QueueId id, const spool::Envelope& envelope);
    // Sees what became of it before `done` does.
    void commit(spool::MessageWriter& writer, spool::MessageWriter::Done done);
    // What a commit failed of.
    static Shut shut_by(const spool::Error& error) {
        const bool means = error.code == EMFILE || error.code == ENFILE || error.code == ENOMEM;
        return spool::is_out_of_space(error) ? Shut::full : means ? Shut::memory : Shut::broken;
    }

    void reconfigure(const config::Spool& settings) {
        floor_ = {settings.minimum_free, settings.minimum_free_inodes};
        memory_.set_limit(settings.content_memory);
    }
    // Told whenever it changes why no mail can be taken; "" it can. Of the queue-manager's `accepting`.
    void on_standing(std::function<void(const std::string& obstacle)> standing) { standing_ = std::move(standing); }
    spool::ContentMemory& memory() { return memory_; }
    // Called every second while memory is scarce.
    void on_scarcity(std::function<void()> scarce) { scarce_ = std::move(scarce); }
    // Says in the log and in the status how it stands with that.
    void look_at_memory();
    std::uint64_t outstanding() const { return pool_.outstanding(); }
    spool::RealDisk& disk() { return *disk_; }
    spool::CommitPool& pool() { return pool_; } // for other work on the same disk

private:
    Intake(Loop& loop, Log& log, const config::Spool& settings, std::unique_ptr<spool::RealDisk> disk,
           Trouble trouble, Figures& figures, Source source);
    spool::Result<> open_directory();
    void failed(const spool::Error& error);
    void close(const spool::Error& error);
    void worked();
    void try_again();
    void tell_standing();

    Log& log_;
    Trouble trouble_;
    Figures& figures_;
    const Source source_;
    spool::Floor floor_;
    std::unique_ptr<spool::RealDisk> disk_;
    spool::ContentMemory memory_;
    std::vector<std::unique_ptr<spool::SharedDirectory>>
        directories_; // the last is in use; broken ones before it
    Wake wake_;
    spool::CommitPool pool_;
    std::unique_ptr<spool::QueueIdSource> ids_;
    std::uint8_t slot_ = 0;
    std::optional<spool::Space> space_;
    smtp::Monotonic looked_;                      // when space_ was asked for
    bool full_ = false;                           // said so in the log
    std::optional<smtp::Monotonic> closed_until_; // after a failure; then one is tried
    std::string broken_;                          // what failed; "" nothing
    std::string told_, trouble_told_;             // by standing_ and trouble_
    spool::ContentMemory::Level memory_said_ = spool::ContentMemory::Level::plenty; // in the log
    std::function<void(const std::string&)> standing_;
    std::function<void()> scarce_;
    Timer again_; // while it is closed or memory is short
};

} // namespace common
