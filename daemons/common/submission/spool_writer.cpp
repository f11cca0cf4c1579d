#include "daemons/common/submission/spool_writer.h"
#include "libspool/format/layout.h"
#include <algorithm>
#include <cerrno>
#include <sys/resource.h>

namespace common {

using namespace std::chrono_literals;

static constexpr auto look_every = 1s;   // at the disk's free space
static constexpr auto pause_after = 5s;  // a failure
static constexpr auto memory_every = 1s; // while it is short

// Of the descriptors that this process may have, an eighth: the rest is for clients, and for messages with files of
// their own.
static std::size_t reusable_files_for(const config::Spool& settings) {
    rlimit descriptors{};
    if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return 0;
    return std::min<std::size_t>(settings.reused_files, descriptors.rlim_cur / 8);
}

spool::Result<std::unique_ptr<SpoolWriter>> SpoolWriter::open(Loop& loop, Log& log, const config::Spool& settings,
                                                              std::uint8_t slot, ReportProblem report_problem,
                                                              Metrics& metrics, MailSource source) {
    auto disk = TRY(spool::RealDisk::open_at(settings.directory));
    disk->watch_syncs([&metrics](std::chrono::nanoseconds took) {
        metrics.observe(MetricId::sync_seconds, std::chrono::duration_cast<smtp::Duration>(took));
    });
    std::unique_ptr<SpoolWriter> spool_writer(
        new SpoolWriter(loop, log, settings, std::move(disk), std::move(report_problem), metrics, source));
    spool_writer->slot_ = slot;
    spool_writer->ids_ =
        TRY(spool::QueueIdSource::open(*spool_writer->disk_, slot, Loop::now().wall, &spool_writer->pool_));
    TRY(spool_writer->open_directory());
    return spool_writer;
}

SpoolWriter::SpoolWriter(Loop& loop, Log& log, const config::Spool& settings, std::unique_ptr<spool::RealDisk> disk,
                         ReportProblem report_problem, Metrics& metrics, MailSource source)
    : log_(log), report_problem_(std::move(report_problem)), metrics_(metrics), source_(source),
      floor_{settings.minimum_free, settings.minimum_free_inodes}, disk_(std::move(disk)),
      memory_(settings.content_memory, [this] { pool_.complete([this] { memory_.resume_waiting(); }); }),
      wake_(loop, [this] { pool_.drain(); }), reusable_files_(reusable_files_for(settings)),
      pool_(*disk_, settings.sync_threads, [this] { wake_.signal(); }), again_(loop, [this] {
          if (scarce_ && memory_.level() >= spool::ContentMemory::Level::scarce) scarce_();
          check_memory();
          try_again();
      }) {}

SpoolWriter::~SpoolWriter() { memory_.close(); }

spool::Result<> SpoolWriter::open_directory() {
    const spool::QueueId any{0x100u | slot_};
    directories_.push_back(TRY(spool::SharedDirectory::open(*disk_, directory_of(any, spool::Location::incoming))));
    return {};
}

std::expected<spool::QueueId, Unavailable> SpoolWriter::admit(std::uint64_t size, smtp::Now now) {
    if (closed_until_) return std::unexpected(Unavailable::broken);
    if (!refused_.empty()) return std::unexpected(Unavailable::refused);
    check_memory();
    if (memory_.level() == spool::ContentMemory::Level::exhausted) return std::unexpected(Unavailable::memory);
    if (!space_ || full_ || now.monotonic - looked_ >= look_every) {
        const auto space = disk_->space();
        if (!space) {
            failed(space.error());
            return std::unexpected(Unavailable::broken);
        }
        if (disk_->read_only()) {
            failed({EROFS, "the spool's file system is read-only"});
            return std::unexpected(Unavailable::broken);
        }
        space_ = *space;
        looked_ = now.monotonic;
    }
    const auto room = spool::check_free_space(*space_, floor_, size);
    const bool full = room != spool::FreeSpace::enough;
    if (full && !full_)
        log_.warning("not enough free {} in the spool, no mail is accepted: {} bytes and {} files are free",
                     room == spool::FreeSpace::no_files ? "inodes" : "space", space_->bytes_free, space_->files_free);
    if (full_ && !full) log_.info("there is enough space in the spool again");
    full_ = full;
    report_status();
    if (full) return std::unexpected(Unavailable::full);
    const auto id = ids_->next(now.wall);
    if (id) return *id;
    close(id.error()); // the test message replaces a broken mark, whatever broke it
    return std::unexpected(unavailable_after(id.error()));
}

spool::MessageWriter SpoolWriter::write(spool::QueueId id, const spool::Envelope& envelope) {
    spool::WriterOptions options;
    options.memory = &memory_;
    return spool::MessageWriter(pool_, *directories_.back(), id, envelope, options);
}

void SpoolWriter::commit(spool::MessageWriter& writer, spool::MessageWriter::Done done) {
    if (space_) { // what is being written counts until the disk is checked again
        space_->bytes_free -= std::min(space_->bytes_free, writer.size() + 4096);
        space_->files_free -= std::min<std::uint64_t>(space_->files_free, 1);
    }
    std::shared_ptr<spool::ReusableFile> file;
    if (const auto size = writer.file_size()) file = reusable_files_.lend(writer.queue_id(), *size);
    if (file) writer.commit_to(file);
    writer.commit([this, file, began = Loop::now().monotonic, recipients = writer.recipients(),
                   done = std::move(done)](spool::Result<spool::DurableReceipt> receipt) mutable {
        if (receipt) {
            metrics_.count(MetricId::messages_accepted, source_);
            metrics_.add(MetricId::recipients_accepted, recipients, source_);
            metrics_.add(MetricId::bytes_accepted, receipt->size(), source_);
            metrics_.observe(MetricId::commit_seconds, Loop::now().monotonic - began);
        } else {
            if (file) reusable_files_.lost(file->name);
            failed(receipt.error());
        }
        done(std::move(receipt));
    });
}

void SpoolWriter::failed(const spool::Error& error) {
    space_.reset(); // check again
    if (spool::is_out_of_space(error)) {
        log_.warning("no space for a message: {}", error.what);
        return;
    }
    if (error.code == EMFILE || error.code == ENFILE ||
        error.code == ENOMEM) { // this process's problem, not the disk's
        log_.warning("no resources for a message: {}", error.what);
        return;
    }
    close(error);
}

// Takes no mail until a test message has succeeded.
void SpoolWriter::close(const spool::Error& error) {
    space_.reset();
    if (!closed_until_)
        log_.critical("the spool cannot be written, no new mail is accepted until it can: {}", error.what);
    broken_ = error.what;
    closed_until_ = Loop::now().monotonic + pause_after;
    report_status();
    again_.start(pause_after);
}

// A test message: written, made durable and removed.
void SpoolWriter::try_again() {
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
                write_succeeded();
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
        // Removed before it is synced: no power failure leaves it behind as a truncated message.
        auto unlinked = disk_->unlink(path);
        if (!written || !unlinked) return done(written ? std::move(unlinked) : std::move(written));
        pool_.make_durable(*file, directory, {.id = id, .size = 1}, [done = std::move(done)](auto receipt) mutable {
            done(receipt ? spool::Result<>() : std::unexpected(std::move(receipt).error()));
        });
    });
}

void SpoolWriter::write_succeeded() {
    closed_until_.reset();
    broken_.clear();
    space_.reset();
    log_.warning("the spool can be written again");
    report_status();
}

void SpoolWriter::check_memory() {
    using Level = spool::ContentMemory::Level;
    memory_.check_level();
    const auto level = memory_.level();
    if (level >= Level::scarce && level > logged_memory_level_) {
        logged_memory_level_ = level;
        log_.warning("mail being received holds {} of {} bytes of memory: {}", memory_.held(), memory_.limit(),
                     level == Level::scarce ? "senders of large messages wait" : "new messages are rejected for now");
    } else if (level == Level::plenty && logged_memory_level_ != Level::plenty) {
        logged_memory_level_ = level;
        log_.info("memory for mail being received is sufficient again");
    }
    report_status();
    if (logged_memory_level_ != Level::plenty && !closed_until_) again_.start(memory_every);
}

void SpoolWriter::report_status() {
    using Level = spool::ContentMemory::Level;
    std::string obstacle;
    if (closed_until_)
        obstacle = "the spool cannot be written: " + broken_;
    else if (full_)
        obstacle = "the spool is full";
    else if (!refused_.empty())
        obstacle = refused_;
    else if (logged_memory_level_ == Level::exhausted)
        obstacle = "memory for mail being received is used up";
    const auto problem = obstacle.empty() && logged_memory_level_ == Level::scarce
                             ? "memory for mail being received is scarce: senders of large "
                               "messages wait"
                             : obstacle;
    if (problem != reported_problem_) report_problem_(reported_problem_ = problem);
    if (obstacle == reported_obstacle_) return;
    reported_obstacle_ = obstacle;
    if (on_status_change_) on_status_change_(reported_obstacle_);
}

} // namespace common
