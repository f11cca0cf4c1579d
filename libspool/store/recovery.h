// Finds the messages in the spool: at startup, and after a writer crashed. Runs in steps so that a daemon can deliver
// what is found while the rest is still being read, on threads of its choice: one scan on one thread at a time, scans
// of different directories in parallel. Sets aside files that are not messages; deletes only what was finished before,
// and reused files (layout.h) of writers that are gone, when no message is in them.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/format/layout.h"
#include "libspool/format/queue_id.h"
#include "libspool/message/message_reader.h"
#include "libspool/message/message_state.h"
#include "libspool/store/finished_messages.h"
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace spool {

struct Found {
    QueueId id;
    Location location = Location::messages;
    QueueId reused_file = own_file; // in incoming/: the reused file it is in, if it is in one
    std::uint64_t size = 0;         // of the content
    bool in_flight = false;    // an agent of an earlier queue-manager holds it: do not dispatch before it releases it
    bool writer_alive = false; // its writer may be alive and not have reported it yet
    MessageState state;
};

// A file that was moved out of the way.
struct QuarantinedFile {
    std::string from, to;    // paths in the spool
    bool incomplete = false; // never acknowledged: worth an info line; otherwise damaged: critical
    std::string why;
};

struct ScanBatch {
    std::vector<Found> found;
    std::vector<QuarantinedFile> quarantined;
    std::vector<QueueId> finished_before; // had been finished when the power failed: removed
    std::vector<Error> errors;            // files or directories that could not be read; they are still where they were
    std::set<std::string>
        unread_directories; // directories where the error may be temporary: out of descriptors, memory, a failing disk
};

// One message, if its file is there, is whole, and is not being delivered. Otherwise nothing, and nothing is done about
// it: that is for a scan to decide.
std::optional<Found> find_message(Disk& disk, QueueId id, Location location,
                                  const std::shared_ptr<const FinishedIndex>& finished = {});

struct ScanOptions {
    std::size_t batch = 64; // files per step
    // Messages that are known already: their files are skipped if in the right place. Not changed while a scan steps.
    std::shared_ptr<const std::unordered_set<QueueId>> known = {};
    // Messages whose removal a power cut may have undone: their files are removed again. Null: none.
    std::shared_ptr<const FinishedIndex> finished = {};
};

class RecoveryScan {
public:
    // Everything: incoming/*/ first (always short), then messages/*/.
    static RecoveryScan everything(Disk& disk, ScanOptions options = {});
    // One writer's directory: when its connection has closed and when a new one sends Hello. Files of the writer that
    // is running there now are left alone.
    static RecoveryScan writer(Disk& disk, std::uint8_t slot, ScanOptions options = {});

    // These directories, as ScanBatch::unread_directories names them.
    static RecoveryScan again(Disk& disk, const std::set<std::string>& directories, ScanOptions options = {});

    // Its next directory as a scan of its own, to run in parallel with this one and others; none left: nothing. Reading
    // a million small files means waiting for the disk a million times, unless many reads wait at once.
    std::optional<RecoveryScan> split_off();

    bool finished() const { return directories_.empty() && names_.empty(); }
    // One batch; empty ones may come before the end.
    ScanBatch step();

private:
    RecoveryScan(Disk& disk, ScanOptions options) : disk_(disk), options_(options) {}
    void open_directory(ScanBatch& batch);
    void examine(const std::string& name, ScanBatch& batch);
    void examine_reused(const std::string& path, QueueId file, ScanBatch& batch);
    bool was_finished(const std::string& path, const MessageReader& message, ScanBatch& batch);
    void unreadable(Error error, ScanBatch& batch);
    void quarantine(const std::string& path, const std::string& name, bool incomplete, std::string why,
                    ScanBatch& batch);

    Disk& disk_;
    ScanOptions options_;
    std::shared_ptr<std::mutex> aside_ = std::make_shared<std::mutex>(); // while finding a free name there
    std::vector<std::string> directories_;                               // still to be read, last first
    std::string directory_;                                              // the one `names_` come from
    std::vector<std::string> names_;
    std::uint64_t boundary_tick_ = 0; // incoming: a living writer may be writing ids at or above
};

} // namespace spool
