// The way into the spool for local submissions: queue ids, the commit pool, room on the disk. Knows the
// spool; must not know where messages come from.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/log.h"
#include "daemons/common/wake.h"
#include "daemons/pickup/refusal.h"
#include "libspool/commit_pool.h"
#include "libspool/message_writer.h"
#include "libspool/queue_id_source.h"
#include "libspool/real_disk.h"
#include "libspool/reserve.h"
#include <expected>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace pickup {

class Intake {
public:
    using Trouble = std::function<void(std::string_view)>; // for `postrider status`; "" clears it

    static spool::Result<std::unique_ptr<Intake>> open(common::Loop& loop, common::Log& log,
                                                       const config::Spool& settings, std::uint8_t slot,
                                                       Trouble trouble);
    Intake(const Intake&) = delete;

    // A queue id, or why there is none now.
    std::expected<spool::QueueId, Refusal> admit(std::uint64_t size);
    spool::MessageWriter write(spool::QueueId id, const spool::Envelope& envelope) {
        return spool::MessageWriter(pool_, *directories_.back(), id, envelope);
    }
    // Sees what became of it before `done` does.
    void commit(spool::MessageWriter& writer, spool::MessageWriter::Done done);
    static Refusal refusal_for(const spool::Error& error);
    // Moves a file of drop/ that is no submission out of the way; returns where it is now.
    spool::Result<std::string> put_aside(const std::string& path, const std::string& name,
                                         const std::string& why);

    void reconfigure(const config::Spool& settings) {
        floor_ = {settings.minimum_free, settings.minimum_free_inodes};
    }
    std::uint64_t outstanding() const { return pool_.outstanding(); }
    int spool_directory() const { return disk_->directory(); }

private:
    Intake(common::Loop& loop, common::Log& log, const config::Spool& settings,
           std::unique_ptr<spool::RealDisk> disk, Trouble trouble);
    spool::Result<> open_directory();
    void failed(const spool::Error& error);

    common::Log& log_;
    Trouble trouble_;
    spool::Floor floor_;
    std::unique_ptr<spool::RealDisk> disk_;
    std::vector<std::unique_ptr<spool::SharedDirectory>> directories_; // the last is in use
    common::Wake wake_;
    spool::CommitPool pool_;
    std::unique_ptr<spool::QueueIdSource> ids_;
    std::uint8_t slot_ = 0;
    bool broken_ = false; // the last write failed: the next one gets the directory opened anew
};

} // namespace pickup
