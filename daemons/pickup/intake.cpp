#include "daemons/pickup/intake.h"
#include "daemons/common/kill_point.h"
#include "libspool/layout.h"
#include "libspool/put_aside.h"

namespace pickup {

spool::Result<std::unique_ptr<Intake>> Intake::open(common::Loop& loop, common::Log& log,
                                                    const config::Spool& settings, std::uint8_t slot,
                                                    Trouble trouble) {
    auto disk = TRY(spool::RealDisk::open_at(settings.directory));
    std::unique_ptr<Intake> intake(new Intake(loop, log, settings, std::move(disk), std::move(trouble)));
    intake->slot_ = slot;
    intake->ids_ =
        TRY(spool::QueueIdSource::open(*intake->disk_, slot, common::Loop::now().wall, &intake->pool_));
    TRY(intake->open_directory());
    return intake;
}

Intake::Intake(common::Loop& loop, common::Log& log, const config::Spool& settings,
               std::unique_ptr<spool::RealDisk> disk, Trouble trouble)
    : log_(log), trouble_(std::move(trouble)), floor_{settings.minimum_free, settings.minimum_free_inodes},
      disk_(std::move(disk)), wake_(loop, [this] { pool_.drain(); }),
      pool_(*disk_, settings.sync_threads, [this] { wake_.signal(); }) {}

spool::Result<> Intake::open_directory() {
    const spool::QueueId any{0x100u | slot_};
    directories_.push_back(
        TRY(spool::SharedDirectory::open(*disk_, directory_of(any, spool::Location::incoming))));
    return {};
}

std::expected<spool::QueueId, Refusal> Intake::admit(std::uint64_t size) {
    static const Refusal no_room{EX_TEMPFAIL, "the mail queue is full, try again later"};
    if (broken_) { // a directory whose sync failed is not used again
        if (auto opened = open_directory(); !opened) return std::unexpected(refusal_for(opened.error()));
        broken_ = false;
    }
    const auto room = spool::room_for(*disk_, floor_, size);
    if (!room) return std::unexpected(refusal_for(room.error()));
    if (*room != spool::Room::enough) {
        log_.warning("not enough free {} in the spool: a submission is refused",
                     *room == spool::Room::no_files ? "inodes" : "space");
        return std::unexpected(no_room);
    }
    const auto id = ids_->next(common::Loop::now().wall);
    if (id) return *id;
    failed(id.error());
    return std::unexpected(refusal_for(id.error()));
}

void Intake::commit(spool::MessageWriter& writer, spool::MessageWriter::Done done) {
    KILL_POINT("pickup.before_sync");
    writer.commit([this, done = std::move(done)](spool::Result<spool::DurableReceipt> receipt) mutable {
        if (receipt) {
            KILL_POINT("pickup.after_sync");
            trouble_("");
        } else {
            failed(receipt.error());
        }
        done(std::move(receipt));
    });
}

Refusal Intake::refusal_for(const spool::Error& error) {
    if (spool::is_out_of_space(error)) return {EX_TEMPFAIL, "the mail queue is full, try again later"};
    return {EX_TEMPFAIL, "the mail queue cannot be written, try again later"};
}

void Intake::failed(const spool::Error& error) {
    log_.error("a submission could not be written: {}", error.what);
    if (spool::is_out_of_space(error)) return;
    broken_ = true;
    trouble_("the spool cannot be written: " + error.what);
}

spool::Result<std::string> Intake::put_aside(const std::string& path, const std::string& name,
                                             const std::string& why) {
    return spool::put_aside(*disk_, path, "quarantine/incomplete", name, why);
}

} // namespace pickup
