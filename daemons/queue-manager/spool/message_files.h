// The files of messages that were taken over: records are appended, finished ones are removed, damaged ones go to
// quarantine/. Nothing waits for the disk; failures are reported and, where nothing may be lost, retried. Knows files;
// must not know why anything is recorded or removed.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/queue-manager/spool/disk_reserve.h"
#include "daemons/queue-manager/spool/finished_log.h"
#include "daemons/queue-manager/spool/idempotency_keys.h"
#include "daemons/queue-manager/spool/pending_records.h"
#include "daemons/queue-manager/spool/problem_list.h"
#include "daemons/queue-manager/spool/quarantine_cleaner.h"
#include "daemons/queue-manager/spool/removals_under_way.h"
#include "daemons/queue-manager/spool/spool_scanner.h"
#include "libspool/store/store.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace queue_manager {

class MessageFiles {
public:
    struct Dependencies { // all outlive it
        common::Loop& loop;
        common::Log& log;
        spool::Store& store;
        SpoolScanner& scanner;
        FinishedLog& finished;
        IdempotencyKeys& keys;
        QuarantineCleaner& cleaner;
        DiskReserve& reserve;
        ProblemList& problems;
        std::function<void()> written; // the store must be flushed at the end of the turn
        // Calls back when what became of messages until now is on stable storage, in the journal.
        std::function<void(std::move_only_function<void()>)> when_recorded;
        std::function<void(spool::QueueId, std::string_view why)> put_aside; // it goes to quarantine/
    };
    explicit MessageFiles(const Dependencies& dependencies);
    MessageFiles(const MessageFiles&) = delete;

    // Where a reader of the message should look first.
    spool::FileHint where(spool::QueueId id, spool::Location location) const { return store_.hint(id, location); }

    // ---- records ----

    // Appends to the message's file. `acknowledgement` is released when all is written, or has failed and is reported.
    void record(spool::QueueId id, std::vector<spool::Property> properties, spool::Sync sync = spool::Sync::no,
                std::shared_ptr<void> acknowledgement = {});
    // The same, on stable storage before `done` is called. The caller must report failures.
    void record_durably(spool::QueueId id, spool::Location location, std::vector<spool::Property> properties,
                        spool::Store::Done done);
    // The result of categorization, including `unchanged`: recipients that are delivered as they are, elsewhere.
    void record_categorization(spool::QueueId id, std::vector<spool::Property> records,
                               std::span<const std::uint32_t> unchanged, spool::Sync sync, spool::Store::Done done);
    // The same without other records: written a little later, or with the next record, or never.
    void record_later(spool::QueueId id, std::span<const std::uint32_t> unchanged);
    // The message is finished: records that are not written yet are dropped.
    void drop_unwritten(spool::QueueId id) { static_cast<void>(pending_.take(id)); }
    void write_all(); // all pending records, now

    // ---- the end of a message ----

    // Every recipient is accounted for: scans ignore its file.
    void finished(spool::QueueId id) { scanner_.finished(id); }
    // Removes the file of a finished message once its idempotency key is stored and the journal has what became of it.
    // If that fails, it is retried: after a restart the message would be delivered again.
    void remove(spool::QueueId id, spool::Location location, std::shared_ptr<void> acknowledgement = {});
    // The same, but its content is kept in failed/. `last`: records that were left out because it was to be removed.
    void keep_failed(spool::QueueId id, spool::Location location, std::vector<spool::Property> last,
                     std::shared_ptr<void> acknowledgement = {});
    enum class Removal : std::uint8_t { may_be_restored, permanently };
    // By an operator. The engine has forgotten it.
    void remove_by_operator(spool::QueueId id, Removal how);
    // Calls `then` when what operators have removed until now can be restored.
    void when_put_away(std::move_only_function<void()> then) { removals_.when_through(std::move(then)); }
    // It is damaged: moves it to quarantine/.
    void quarantine(spool::QueueId id, const std::string& why);

    // Reports that something could not be written to the message's file, and makes room if that is why.
    void failed(spool::QueueId id, const spool::Error& error);

private:
    void write_unwritten(); // records pending for a while
    // Everything that makes a message's file disappear from where recovery looks comes through here.
    void when_removable(spool::QueueId id, std::move_only_function<void()> then);
    void unlink(spool::QueueId id, spool::Location location, std::shared_ptr<void> acknowledgement);
    void move_to_failed(spool::QueueId id, spool::Location location, std::vector<spool::Property> last,
                        std::shared_ptr<void> acknowledgement);
    void move_to_removed(spool::QueueId id);
    void retry_removals();

    common::Log& log_;
    spool::Store& store_;
    SpoolScanner& scanner_;
    FinishedLog& finished_;
    IdempotencyKeys& keys_;
    QuarantineCleaner& cleaner_;
    DiskReserve& reserve_;
    ProblemList& problems_;
    std::function<void()> written_;
    std::function<void(std::move_only_function<void()>)> when_recorded_;
    std::function<void(spool::QueueId, std::string_view)> put_aside_;
    PendingRecords pending_;
    common::Timer pending_timer_, removal_retry_;
    std::vector<std::pair<spool::QueueId, spool::Location>> unremoved_;
    RemovalsUnderWay removals_;
};

} // namespace queue_manager
