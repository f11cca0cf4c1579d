// Assigns queue ids for one writer's slot: 16 µs ticks, max(clock, last + 1), never the same one twice, even if
// the clock is set back or the writer crashes. Holds the slot's lock for its lifetime. The time is passed in.
#pragma once
#include "libsmtp/text/time_types.h"
#include "libspool/disk/commit_pool.h"
#include "libspool/disk/disk.h"
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <memory>
#include <optional>

namespace spool {

// What incoming/<slot>/writer says: ids below `start` were a predecessor's; every id below `ceiling` is
// spent.
struct WriterMark {
    std::uint64_t start = 0, ceiling = 0; // ticks
    bool operator==(const WriterMark&) const = default;
};
inline constexpr char writer_mark_name[] = "writer";         // in the slot's directory
inline constexpr char new_writer_mark_name[] = "writer.new"; // on its way to that name
// nullopt: the file does not exist (no writer yet). Error: unreadable or damaged.
Result<std::optional<WriterMark>> read_writer_mark(Disk& disk, const File& file);

class QueueIdSource {
public:
    // Makes incoming/<slot> if need be, takes its lock (Error EAGAIN: another writer lives there) and sets
    // the mark. Blocks for two syncs. With a pool the ceiling is raised ahead of need by its threads; without
    // one, when needed.
    static Result<std::unique_ptr<QueueIdSource>> open(Disk& disk, std::uint8_t slot, smtp::WallTime now,
                                                       CommitPool* pool = nullptr);
    ~QueueIdSource();

    // The next id. Blocks for one sync only when the clock leapt past the ceiling. An error means that no id
    // can be promised unique: 451.
    Result<QueueId> next(smtp::WallTime now);

    // If the mark could not be written or synced: puts a new one in its place. Blocks for two syncs.
    Result<> renew(smtp::WallTime now);

    std::uint8_t slot() const { return slot_; }

private:
    struct Mark;
    QueueIdSource(std::uint8_t slot, CommitPool* pool) : slot_(slot), pool_(pool) {}
    std::uint8_t slot_;
    CommitPool* pool_;
    std::shared_ptr<Mark> mark_; // shared with the job that raises the ceiling
    std::uint64_t last_ = 0;
};

// When the id was given out, to 16 µs (later, if the clock had stepped back).
smtp::WallTime time_of(QueueId id);
std::uint64_t tick_of(smtp::WallTime time);

} // namespace spool
