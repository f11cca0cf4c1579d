#include "daemons/common/intake.h"
#include "libspool/layout.h"
#include <algorithm>

namespace common {

using namespace std::chrono_literals;

static constexpr auto look_every = 1s;  // at the disk's free space
static constexpr auto pause_after = 5s; // a failure

spool::Result<std::unique_ptr<Intake>> Intake::open(Loop& loop, Log& log, const config::Spool& settings,
                                                    std::uint8_t slot, Trouble trouble, Figures& figures,
                                                    Source source) {
    auto disk = TRY(spool::RealDisk::open_at(settings.directory));
    disk->watch_syncs([&figures](std::chrono::nanoseconds took) {
        figures.observe(Family::sync_seconds, std::chrono::duration_cast<smtp::Duration>(took));
    });
    std::unique_ptr<Intake> intake(
        new Intake(loop, log, settings, std::move(disk), std::move(trouble), figures, source));
    intake->slot_ = slot;
    intake->ids_ = TRY(spool::QueueIdSource::open(*intake->disk_, slot, Loop::now().wall, &intake->pool_));
    TRY(intake->open_directory());
    return intake;
}

Intake::Intake(Loop& loop, Log& log, const config::Spool& settings, std::unique_ptr<spool::RealDisk> disk,
               Trouble trouble, Figures& figures, Source source)
    : log_(log), trouble_(std::move(trouble)), figures_(figures), source_(source),
      floor_{settings.minimum_free, settings.minimum_free_inodes},
      disk_(std::move(disk)), wake_(loop, [this] { pool_.drain(); }),
      pool_(*disk_, settings.sync_threads, [this] { wake_.signal(); }) {}

spool::Result<> Intake::open_directory() {
    const spool::QueueId any{0x100u | slot_};
    directories_.push_back(
        TRY(spool::SharedDirectory::open(*disk_, directory_of(any, spool::Location::incoming))));
    return {};
}

std::expected<spool::QueueId, Shut> Intake::admit(std::uint64_t size, smtp::Now now) {
    if (closed_until_) {
        if (now.monotonic < *closed_until_) return std::unexpected(Shut::broken);
        if (!open_directory())
            return std::unexpected(Shut::broken);    // a directory whose sync failed is not used again
        closed_until_ = now.monotonic + pause_after; // this one is the trial
    }
    if (!space_ || full_ || now.monotonic - looked_ >= look_every) {
        const auto space = disk_->space();
        if (!space) {
            failed(space.error());
            return std::unexpected(Shut::broken);
        }
        space_ = *space;
        looked_ = now.monotonic;
    }
    const auto room = spool::room_in(*space_, floor_, size);
    const bool full = room != spool::Room::enough;
    if (full && !full_)
        log_.warning("not enough free {} in the spool, no mail is taken: {} bytes and {} files are free",
                     room == spool::Room::no_files ? "inodes" : "space", space_->bytes_free,
                     space_->files_free);
    if (full_ && !full) log_.info("there is room in the spool again");
    if (full != full_ && !closed_until_) trouble_(full ? "the spool is full" : "");
    full_ = full;
    if (full) return std::unexpected(Shut::full);
    const auto id = ids_->next(now.wall);
    if (id) return *id;
    failed(id.error());
    return std::unexpected(shut_by(id.error()));
}

spool::MessageWriter Intake::write(spool::QueueId id, const spool::Envelope& envelope) {
    return spool::MessageWriter(pool_, *directories_.back(), id, envelope);
}

void Intake::commit(spool::MessageWriter& writer, spool::MessageWriter::Done done) {
    if (space_) { // what is on its way counts until the disk is looked at again
        space_->bytes_free -= std::min(space_->bytes_free, writer.size() + 4096);
        space_->files_free -= std::min<std::uint64_t>(space_->files_free, 1);
    }
    writer.commit([this, began = Loop::now().monotonic, recipients = writer.recipients(),
                   done = std::move(done)](spool::Result<spool::DurableReceipt> receipt) mutable {
        if (receipt) {
            figures_.count(Family::messages_accepted, source_);
            figures_.add(Family::recipients_accepted, recipients, source_);
            figures_.add(Family::bytes_accepted, receipt->size(), source_);
            figures_.observe(Family::commit_seconds, Loop::now().monotonic - began);
            if (closed_until_) worked();
        } else {
            failed(receipt.error());
        }
        done(std::move(receipt));
    });
}

void Intake::failed(const spool::Error& error) {
    space_.reset(); // look again
    if (spool::is_out_of_space(error)) {
        log_.warning("no room for a message: {}", error.what);
        return;
    }
    if (!closed_until_) {
        log_.critical("the spool cannot be written, no new mail is taken until it can: {}", error.what);
        trouble_("the spool cannot be written: " + error.what);
    }
    closed_until_ = Loop::now().monotonic + pause_after;
}

void Intake::worked() {
    closed_until_.reset();
    log_.warning("the spool can be written again");
    trouble_("");
}

} // namespace common
