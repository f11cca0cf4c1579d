// The queue-manager's operations on accepted messages: move, append properties, remove, set aside. Everything runs on
// the pool's threads, in order per message, in batches; the caller's loop never waits. One Store per spool: it is the
// only writer.
#pragma once
#include "libspool/disk/commit_pool.h"
#include "libspool/format/layout.h"
#include "libspool/format/property.h"
#include "libspool/format/queue_id.h"
#include "libspool/store/finished_messages.h"
#include "libspool/store/occupied_files.h"
#include "libspool/store/property_log.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace spool {

struct StoreOptions {
    LogLimits log = {};
    FinishedMessages* finished = nullptr; // learns of each message that is removed; may be null, must outlive the Store
};

class Store {
public:
    using Done = std::move_only_function<void(Result<>)>; // through the pool's drain()

    // incoming/, messages/00..ff, removed/, failed/, bad/, quarantine/incomplete/, index/ exist (prepare_spool).
    explicit Store(CommitPool& pool, const StoreOptions& options = {});
    ~Store();
    Store(const Store&) = delete;

    // ---- reused files ----

    // The message is in this one. Before anything else is asked for it. `writer`: learns when the file is free
    // again; 0: no writer, it is removed with the message. From the first change to the message but its removal, the
    // file is the message's own.
    void occupies(QueueId id, QueueId file, OccupiedFiles::Writer writer);
    // For readers of this message.
    FileHint hint(QueueId id, Location location) const;
    // The writer, whose slot is this, has closed its connection.
    void writer_left(std::uint8_t slot, OccupiedFiles::Writer writer);
    // The writer has a new connection and still has these files in use: it learns of each (FileLeft), now or when its
    // message is finished.
    void still_in_use(std::vector<QueueId> files, OccupiedFiles::Writer writer);
    // `reusable`: the message is finished, and the writer may overwrite the file; else it must not touch it again.
    using FileLeft = std::function<void(OccupiedFiles::Writer writer, QueueId file, bool reusable)>;
    void on_file_left(FileLeft left);

    // All messages in reused files keep these: before a stop, so that a program that does not know of such files finds
    // every message.
    void leave_reused_files();

    // ---- messages ----

    // incoming/<slot>/<id> → messages/<hash>/<id>. No sync: recovery reads both places. Succeeds if it was moved
    // before.
    void take_over(QueueId id, Done done = {});
    // Appends records; with Sync::yes `done` is called after they are on stable storage. Restarts the log
    // with a checkpoint when it has grown past 64 KiB. EIO: nothing more is written to the message's file; the next
    // append puts a copy of it in its place, if it can still be read whole, and appends to that.
    void append(QueueId id, Location hint, std::vector<Property> properties, Sync sync, Done done = {});
    // Unlinks the file, wherever it is, or wipes the reused file it is in. Succeeds if it is gone already.
    void remove(QueueId id, Location hint, Done done = {});
    // Into failed/, in the place of remove(): `last` are the records that were left out because the message was to be
    // removed. They and all before them are on stable storage before the rename, so that a message whose rename is
    // undone is found finished. An error: it is where it was, and may be removed. Succeeds if it is gone already.
    void keep_failed(QueueId id, Location hint, std::vector<Property> last, Done done = {});
    // Into removed/, where it stays until restore() or permanently: an operator's removal, which is recorded in the
    // file. Succeeds if it is gone already.
    void move_to_removed(QueueId id, Location hint, Done done = {});
    // Out of removed/ into messages/: removed recipients are pending again, `who` is recorded as the operator; on
    // stable storage. ENOENT: there is no such file; ENODATA: none of its recipients is open any longer.
    void restore(QueueId id, std::string who, smtp::WallTime now, Done done = {});
    // Into quarantine/, with a small text file beside it that says why.
    void quarantine(QueueId id, Location hint, std::string why, Done done = {});
    // Into bad/ likewise: an NDR that cannot be delivered.
    void move_to_bad(QueueId id, Location hint, std::string why, Done done = {});

    // Passes the operations requested since the last call to the threads: once per loop turn. With Batching::yes moves
    // and removals, whose completion is not urgent, may stay until there are more of them, because waking a thread
    // costs more than an unlink; true: some did, and flush() must be called again within some milliseconds.
    enum class Batching : std::uint8_t { no, yes };
    bool flush(Batching batching = Batching::no);
    // Requested and not finished.
    std::uint64_t outstanding() const;

private:
    struct Inner;
    std::shared_ptr<Inner> inner_; // completions that come after the Store is destroyed do not find it
};

// Makes every directory of the layout (and nothing in run/), and incoming/<slot> for the slots named.
Result<> prepare_spool(Disk& disk, const std::vector<std::uint8_t>& slots);

} // namespace spool
