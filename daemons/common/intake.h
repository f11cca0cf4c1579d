// A writer's way into the spool (smtpd, pickup, bounce): queue ids, the commit pool, and the judgement
// whether the disk can take more mail. After a write or sync has failed no new mail is taken for a while,
// then one message is let through as a trial. Must not know where messages come from.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/figures/figures.h"
#include "daemons/common/log.h"
#include "daemons/common/wake.h"
#include "libsmtp/time.h"
#include "libspool/commit_pool.h"
#include "libspool/message_writer.h"
#include "libspool/queue_id_source.h"
#include "libspool/real_disk.h"
#include "libspool/reserve.h"
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace common {

// Why no mail can be taken now.
enum class Shut : std::uint8_t { full, broken };

class Intake {
public:
    using Trouble = std::function<void(std::string_view)>; // for `postrider status`; "" clears it

    // `settings`: the floor below which it says `full`, and how many threads write.
    // What is taken is counted in `figures`, as of `source`.
    static spool::Result<std::unique_ptr<Intake>> open(Loop& loop, Log& log, const config::Spool& settings,
                                                       std::uint8_t slot, Trouble trouble, Figures& figures,
                                                       Source source);
    Intake(const Intake&) = delete;

    // A queue id for a message of about `size` bytes (0: not known), or why there is none now.
    std::expected<spool::QueueId, Shut> admit(std::uint64_t size, smtp::Now now);
    // `envelope` is complete.
    spool::MessageWriter write(spool::QueueId id, const spool::Envelope& envelope);
    // Sees what became of it before `done` does.
    void commit(spool::MessageWriter& writer, spool::MessageWriter::Done done);
    // What a commit failed of.
    static Shut shut_by(const spool::Error& error) {
        return spool::is_out_of_space(error) ? Shut::full : Shut::broken;
    }

    void reconfigure(const config::Spool& settings) {
        floor_ = {settings.minimum_free, settings.minimum_free_inodes};
    }
    std::uint64_t outstanding() const { return pool_.outstanding(); }
    spool::RealDisk& disk() { return *disk_; }
    spool::CommitPool& pool() { return pool_; } // for other work on the same disk

private:
    Intake(Loop& loop, Log& log, const config::Spool& settings, std::unique_ptr<spool::RealDisk> disk,
           Trouble trouble, Figures& figures, Source source);
    spool::Result<> open_directory();
    void failed(const spool::Error& error);
    void worked();

    Log& log_;
    Trouble trouble_;
    Figures& figures_;
    const Source source_;
    spool::Floor floor_;
    std::unique_ptr<spool::RealDisk> disk_;
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
};

} // namespace common
