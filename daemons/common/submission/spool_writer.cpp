#include "daemons/common/submission/spool_writer.h"
#include "libspool/format/layout.h"
#include <algorithm>
#include <cerrno>

namespace common {

using namespace std::chrono_literals;

static constexpr auto look_every = 1s;  // at the disk's free space
static constexpr auto pause_after = 5s; // a failure
static constexpr auto memory_every = 1s; // while it is short

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
      disk_(std::move(disk)),
      memory_(settings.content_memory, [this] { pool_.complete([this] { memory_.relieved(); }); }),
      wake_(loop, [this] { pool_.drain(); }), pool_(*disk_, settings.sync_threads, [this] { wake_.signal(); }),
      again_(loop, [this] {
          if (scarce_ && memory_.level() >= spool::ContentMemory::Level::scarce) scarce_();
          look_at_memory();
          try_again();
      }) {}

Intake::~Intake() { memory_.close(); }

spool::Result<> Intake::open_directory() {
    const spool::QueueId any{0x100u | slot_};
    directories_.push_back(
        TRY(spool::SharedDirectory::open(*disk_, directory_of(any, spool::Location::incoming))));
    return {};
}

std::expected<spool::QueueId, Shut> Intake::admit(std::uint64_t size, smtp::Now now) {
    if (closed_until_) return std::unexpected(Shut::broken);
    look_at_memory();
    if (memory_.level() == spool::ContentMemory::Level::exhausted) return std::unexpected(Shut::memory);
    if (!space_ || full_ || now.monotonic - looked_ >= look_every) {
        const auto space = disk_->space();
        if (!space) {
            failed(space.error());
            return std::unexpected(Shut::broken);
        }
        if (disk_->read_only()) {
            failed({EROFS, "the spool's file system is read-only"});
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
    full_ = full;
    tell_standing();
    if (full) return std::unexpected(Shut::full);
    const auto id = ids_->next(now.wall);
    if (id) return *id;
    close(id.error()); // the trial puts a new mark in the place of a broken one, whatever it broke of
    return std::unexpected(shut_by(id.error()));
}

spool::MessageWriter Intake::write(spool::QueueId id, const spool::Envelope& envelope) {
    spool::WriterOptions options;
    options.memory = &memory_;
    return spool::MessageWriter(pool_, *directories_.back(), id, envelope, options);
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
    if (error.code == EMFILE || error.code == ENFILE || error.code == ENOMEM) { // this process's trouble, not the disk's
        log_.warning("no means for a message: {}", error.what);
        return;
    }
    close(error);
}

// Takes no mail until a trial has succeeded.
void Intake::close(const spool::Error& error) {
    space_.reset();
    if (!closed_until_)
        log_.critical("the spool cannot be written, no new mail is taken until it can: {}", error.what);
    broken_ = error.what;
    closed_until_ = Loop::now().monotonic + pause_after;
    tell_standing();
    again_.start(pause_after);
}

// A message that nobody sent: written, made durable and removed.
void Intake::try_again() {
    if (!closed_until_) return;
    const auto now = Loop::now();
    if (now.monotonic < *closed_until_) return again_.start(*closed_until_ - now.monotonic);
    const auto space = disk_->space();
    if (!space) return close(space.error());
    if (disk_->read_only()) return close({EROFS, "the spool's file system is read-only"});
    if (auto renewed = ids_->renew(now.wall); !renewed) return close(renewed.error());
    const auto id = ids_->next(now.wall);
    if (!id) return close(id.error());
    // A directory whose sync failed is not used again.
    if (auto opened = open_directory(); !opened) return close(opened.error());
    closed_until_ = now.monotonic + pause_after;
    auto& directory = *directories_.back();
    auto done = [this](spool::Result<> tried) {
        pool_.complete([this, tried = std::move(tried)] {
            if (tried)
                worked();
            else
                close(tried.error());
        });
    };
    pool_.post([this, id = *id, &directory, done = std::move(done)]() mutable {
        const auto path = directory.path() + "/" + id.text();
        auto file = disk_->open(path, spool::Open::create);
        if (!file) return done(std::unexpected(std::move(file).error()));
        const std::string_view nothing("\0", 1);
        auto written = disk_->write(*file, 0, {&nothing, 1});
        // Gone before it is synced: no power cut leaves it behind as a message that was cut short.
        auto unlinked = disk_->unlink(path);
        if (!written || !unlinked) return done(written ? std::move(unlinked) : std::move(written));
        pool_.make_durable(*file, directory, id, 1, [done = std::move(done)](auto receipt) mutable {
            done(receipt ? spool::Result<>() : std::unexpected(std::move(receipt).error()));
        });
    });
}

void Intake::worked() {
    closed_until_.reset();
    broken_.clear();
    space_.reset();
    log_.warning("the spool can be written again");
    tell_standing();
}

void Intake::look_at_memory() {
    using Level = spool::ContentMemory::Level;
    memory_.look();
    const auto level = memory_.level();
    if (level >= Level::scarce && level > memory_said_) {
        memory_said_ = level;
        log_.warning("mail being received holds {} of {} bytes of memory: {}", memory_.held(),
                     memory_.limit(),
                     level == Level::scarce ? "senders of large messages wait" : "new messages are refused for now");
    } else if (level == Level::plenty && memory_said_ != Level::plenty) {
        memory_said_ = level;
        log_.info("memory for mail being received is sufficient again");
    }
    tell_standing();
    if (memory_said_ != Level::plenty && !closed_until_) again_.start(memory_every);
}

void Intake::tell_standing() {
    using Level = spool::ContentMemory::Level;
    std::string obstacle;
    if (closed_until_)
        obstacle = "the spool cannot be written: " + broken_;
    else if (full_)
        obstacle = "the spool is full";
    else if (memory_said_ == Level::exhausted)
        obstacle = "memory for mail being received is used up";
    const auto trouble = obstacle.empty() && memory_said_ == Level::scarce
                             ? "memory for mail being received is scarce: senders of large "
                               "messages wait"
                             : obstacle;
    if (trouble != trouble_told_) trouble_(trouble_told_ = trouble);
    if (obstacle == told_) return;
    told_ = obstacle;
    if (standing_) standing_(told_);
}

} // namespace common
