#include "daemons/queue-manager/spool/message_files.h"
#include <cerrno>
#include <chrono>

namespace queue_manager {

namespace {

constexpr smtp::Duration removal_pause = std::chrono::seconds(5);

} // namespace

MessageFiles::MessageFiles(const Dependencies& dependencies)
    : log_(dependencies.log), store_(dependencies.store), scanner_(dependencies.scanner),
      finished_(dependencies.finished), keys_(dependencies.keys), cleaner_(dependencies.cleaner),
      reserve_(dependencies.reserve), problems_(dependencies.problems), written_(dependencies.written),
      when_recorded_(dependencies.when_recorded), put_aside_(dependencies.put_aside),
      pending_timer_(dependencies.loop, [this] { write_unwritten(); }),
      removal_retry_(dependencies.loop, [this] { retry_removals(); }) {}

// ---- records ----

void MessageFiles::record(spool::QueueId id, std::vector<spool::Property> properties, spool::Sync sync,
                          std::shared_ptr<void> acknowledgement) {
    if (auto unchanged = pending_.take(id)) properties.insert(properties.begin(), *std::move(unchanged));
    store_.append(id, spool::Location::messages, std::move(properties), sync,
                  [this, id, acknowledgement = std::move(acknowledgement)](spool::Result<> written) {
                      if (!written) failed(id, written.error());
                  });
    written_();
}

void MessageFiles::record_durably(spool::QueueId id, spool::Location location, std::vector<spool::Property> properties,
                                  spool::Store::Done done) {
    if (auto unchanged = pending_.take(id)) record(id, {*std::move(unchanged)});
    store_.append(id, location, std::move(properties), spool::Sync::yes, std::move(done));
    written_();
}

void MessageFiles::record_categorization(spool::QueueId id, std::vector<spool::Property> records,
                                         std::span<const std::uint32_t> unchanged, spool::Sync sync,
                                         spool::Store::Done done) {
    pending_.add(id, unchanged);
    if (auto taken = pending_.take(id)) records.insert(records.begin(), *std::move(taken));
    store_.append(id, spool::Location::incoming, std::move(records), sync,
                  [this, id, done = std::move(done)](spool::Result<> written) mutable {
                      if (!written) failed(id, written.error());
                      done(std::move(written));
                  });
    written_();
}

void MessageFiles::record_later(spool::QueueId id, std::span<const std::uint32_t> unchanged) {
    pending_.add(id, unchanged);
    if (!pending_.empty() && !pending_timer_.armed()) pending_timer_.start(PendingRecords::delay);
}

void MessageFiles::write_unwritten() {
    for (auto& [id, unchanged] : pending_.passed()) record(id, {std::move(unchanged)});
    if (!pending_.empty()) pending_timer_.start(PendingRecords::delay);
}

void MessageFiles::write_all() {
    while (!pending_.empty()) write_unwritten();
}

// ---- the end of a message ----

void MessageFiles::when_removable(spool::QueueId id, std::move_only_function<void()> then) {
    const auto shared = std::make_shared<std::move_only_function<void()>>(std::move(then));
    keys_.when_stored(id, [this, shared] { when_recorded_([shared] { (*shared)(); }); });
}

void MessageFiles::remove(spool::QueueId id, spool::Location location, std::shared_ptr<void> acknowledgement) {
    when_removable(id, [this, id, location, acknowledgement = std::move(acknowledgement)] {
        unlink(id, location, acknowledgement);
    });
}

void MessageFiles::unlink(spool::QueueId id, spool::Location location, std::shared_ptr<void> acknowledgement) {
    store_.remove(id, location, [this, id, location, acknowledgement](spool::Result<> removed) {
        if (removed) {
            scanner_.gone(id);
            finished_.removed();
            if (unremoved_.empty()) problems_.report("removal", "");
            return;
        }
        if (unremoved_.empty())
            log_.critical("{}: finished, but its file cannot be removed: {}: will be retried", id.text(),
                          removed.error().what);
        problems_.report("removal", "finished messages cannot be removed: " + removed.error().what);
        unremoved_.emplace_back(id, location);
        if (!removal_retry_.armed()) removal_retry_.start(removal_pause);
    });
    written_();
}

void MessageFiles::keep_failed(spool::QueueId id, spool::Location location, std::vector<spool::Property> last,
                               std::shared_ptr<void> acknowledgement) {
    when_removable(id, [this, id, location, last = std::move(last), acknowledgement]() mutable {
        move_to_failed(id, location, std::move(last), acknowledgement);
    });
}

void MessageFiles::move_to_failed(spool::QueueId id, spool::Location location, std::vector<spool::Property> last,
                                  std::shared_ptr<void> acknowledgement) {
    store_.keep_failed(id, location, std::move(last), [this, id, location, acknowledgement](spool::Result<> kept) {
        if (kept) {
            scanner_.gone(id);
            return cleaner_.soon();
        }
        log_.warning("{}: its content cannot be kept: {}: removed", id.text(), kept.error().what);
        unlink(id, location, acknowledgement);
    });
    written_();
}

void MessageFiles::retry_removals() {
    for (const auto& [id, location] : std::exchange(unremoved_, {})) unlink(id, location, {});
}

void MessageFiles::remove_by_operator(spool::QueueId id, Removal how) {
    finished(id);
    log_.info("{}: removed", id.text());
    if (how == Removal::permanently) return remove(id, spool::Location::messages);
    removals_.begin(id);
    when_removable(id, [this, id] { move_to_removed(id); });
}

void MessageFiles::move_to_removed(spool::QueueId id) {
    store_.move_to_removed(id, spool::Location::messages, [this, id](spool::Result<> put) {
        if (put) {
            scanner_.gone(id);
            cleaner_.soon();
        } else {
            unlink(id, spool::Location::messages, {});
        }
        removals_.end(id);
    });
    written_();
}

void MessageFiles::quarantine(spool::QueueId id, const std::string& why) {
    log_.critical("{}: {}: moved to quarantine/: inspect it", id.text(), why);
    problems_.report("quarantine", "damaged messages are in quarantine/, the last one " + id.text());
    put_aside_(id, why);
    when_recorded_([this, id, why] {
        store_.quarantine(id, spool::Location::messages, why, [this, id](spool::Result<> moved) {
            if (!moved) failed(id, moved.error());
            cleaner_.soon();
        });
        written_();
    });
}

void MessageFiles::failed(spool::QueueId id, const spool::Error& error) {
    if (error.code == ENOENT) return; // finished meanwhile
    log_.critical("{}: cannot record what happened to it: {}", id.text(), error.what);
    problems_.report("disk", error.what);
    if (spool::is_out_of_space(error)) reserve_.release();
}

} // namespace queue_manager
