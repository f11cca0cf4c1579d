// The queue-manager's snapshot in index/: what no message's file says, such as the health of links. A cache:
// written at a clean stop, removed at start before anything changes.
#pragma once
#include "libsmtp/time.h"
#include "libspool/disk.h"
#include "libspool/layout.h"
#include "libspool/queue_id.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spool {

struct SnapshotMessage {
    QueueId id;
    Location location = Location::messages;
    std::uint64_t size = 0;
    std::uint32_t recipients = 0; // pending ones
    std::uint32_t failures = 0;
    std::string link;  // link key; "" = not routed yet
    std::string queue; // destination (domain)
    smtp::WallTime next_attempt{};
    smtp::WallTime arrival{};
    std::uint32_t flags = 0; // the queue-manager's own
    std::string more;        // the queue-manager's own
    static void fields(auto& m, auto& f) {
        f(1, m.id);
        f(2, m.location);
        f(3, m.size);
        f(4, m.recipients);
        f(5, m.failures);
        f(6, m.link);
        f(7, m.queue);
        f(8, m.next_attempt);
        f(9, m.arrival);
        f(10, m.flags);
        f(11, m.more);
    }
    bool operator==(const SnapshotMessage&) const = default;
};

struct Snapshot {
    smtp::WallTime taken{};
    std::vector<SnapshotMessage> messages;
    std::string state; // links, queues, pauses: the queue-manager's own bytes
    bool operator==(const Snapshot&) const = default;
};

// Writes a new file beside the old, syncs, renames, syncs the directory.
Result<> write_snapshot(Disk& disk, const Snapshot& snapshot);
// nullopt: there is none, or it is not whole (it is a cache: that is no error). Removes it, so that only a
// clean stop leaves one.
Result<std::optional<Snapshot>> take_snapshot(Disk& disk);

} // namespace spool
