// The way into the spool for one smtpd worker: queue ids, the commit pool, and the judgement whether the disk
// can take more mail. After a write or sync has failed no new mail is taken for a while, then one message is
// let through as a trial. Knows no sessions.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/log.h"
#include "daemons/common/wake.h"
#include "libsmtp/reply.h"
#include "libspool/commit_pool.h"
#include "libspool/message_writer.h"
#include "libspool/queue_id_source.h"
#include "libspool/real_disk.h"
#include "libspool/reserve.h"
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace smtpd {

class Intake {
public:
    using Trouble = std::function<void(std::string_view)>; // for `postrider status`; "" clears it

    static spool::Result<std::unique_ptr<Intake>> open(common::Loop& loop, common::Log& log,
                                                       const config::Spool& settings, std::uint8_t slot,
                                                       Trouble trouble);
    Intake(const Intake&) = delete;

    // A queue id for a message of about `size` bytes (0: not known), or why there is none now: 452 or 451.
    std::expected<spool::QueueId, smtp::Reply> admit(std::uint64_t size, smtp::Now now);
    // `envelope` is complete.
    spool::MessageWriter write(spool::QueueId id, const spool::Envelope& envelope);
    // Sees what became of it before `done` does.
    void commit(spool::MessageWriter& writer, spool::MessageWriter::Done done);
    // The reply for a commit that failed.
    static smtp::Reply reply_for(const spool::Error& error);

    void reconfigure(const config::Spool& settings) {
        floor_ = {settings.minimum_free, settings.minimum_free_inodes};
    }
    std::uint64_t outstanding() const { return pool_.outstanding(); }

private:
    Intake(common::Loop& loop, common::Log& log, const config::Spool& settings,
           std::unique_ptr<spool::RealDisk> disk, Trouble trouble);
    spool::Result<> open_directory();
    void failed(const spool::Error& error);
    void worked();

    common::Log& log_;
    Trouble trouble_;
    spool::Floor floor_;
    std::unique_ptr<spool::RealDisk> disk_;
    std::vector<std::unique_ptr<spool::SharedDirectory>>
        directories_; // the last is in use; broken ones before it
    common::Wake wake_;
    spool::CommitPool pool_;
    std::unique_ptr<spool::QueueIdSource> ids_;
    std::uint8_t slot_ = 0;
    std::optional<spool::Space> space_;
    smtp::Monotonic looked_;                      // when space_ was asked for
    bool full_ = false;                           // said so in the log
    std::optional<smtp::Monotonic> closed_until_; // after a failure; then one is tried
};

} // namespace smtpd
