// The queue-manager's snapshot in index/: facts that no message's file contains, such as the health of links,
// and which files to read first. A cache: written at a clean stop, removed at startup before anything changes.
#pragma once
#include "libsmtp/text/time_types.h"
#include "libspool/disk/disk.h"
#include "libspool/format/layout.h"
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spool {

// A message that was due soon, and where its file lay. It may have gone or changed since: to be looked for,
// never to be believed.
struct SnapshotMessage {
    QueueId id;
    Location location = Location::messages;
    static void fields(auto& m, auto& f) { // 3 to 11 are spent
        f(1, m.id);
        f(2, m.location);
    }
    bool operator==(const SnapshotMessage&) const = default;
};

struct Snapshot {
    smtp::WallTime taken{};
    std::vector<SnapshotMessage> messages; // to be read first, in this order
    std::string state;                     // links, queues, pauses: the queue-manager's own bytes
    bool operator==(const Snapshot&) const = default;
};

// Writes a new file beside the old, syncs, renames, syncs the directory.
Result<> write_snapshot(Disk& disk, const Snapshot& snapshot);
// nullopt: there is none, or it is not whole (it is a cache: that is no error). Removes it, so that only a
// clean stop leaves one.
Result<std::optional<Snapshot>> take_snapshot(Disk& disk);

} // namespace spool
