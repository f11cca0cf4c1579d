#include "libspool/store/queue_id_source.h"
#include "libspool/format/crc32c.h"
#include "libspool/format/layout.h"
#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

namespace spool {

namespace {

using namespace std::chrono_literals;
constexpr auto epoch = std::chrono::sys_days(std::chrono::year(2020) / 1 / 1);
constexpr std::uint64_t tick_microseconds = 16;
constexpr std::uint64_t last_tick = (std::uint64_t{1} << 48) - 1;
constexpr std::uint64_t block = 60'000'000 / tick_microseconds; // a minute's ticks ahead

// Two copies take turns, each in a sector of its own: magic, generation, start, ceiling, checksum.
constexpr std::uint64_t copy_distance = 512;
constexpr std::size_t copy_size = 32;
constexpr std::uint32_t mark_magic = 0x31574d50; // "PMW1"

struct Copy {
    std::uint32_t magic = mark_magic;
    std::uint32_t generation = 0;
    std::uint64_t start = 0, ceiling = 0;
    std::uint32_t reserved = 0;
    std::uint32_t crc = 0;
};
static_assert(sizeof(Copy) == copy_size);

std::uint32_t crc_of(const Copy& copy) {
    return crc32c(std::string_view(reinterpret_cast<const char*>(&copy), copy_size - 4));
}

Result<std::optional<Copy>> read_mark(Disk& disk, const File& file) {
    std::array<char, copy_distance + copy_size> bytes{};
    const auto got = TRY(disk.read(file, 0, bytes));
    // The first mark goes to the second place: a file without a whole one there was never synced, and no id
    // of it ever given out.
    if (got < bytes.size() || std::ranges::all_of(bytes, [](char c) { return c == 0; })) return std::nullopt;
    std::optional<Copy> best;
    for (std::size_t at = 0; at + copy_size <= got; at += copy_distance) {
        Copy copy;
        std::memcpy(&copy, bytes.data() + at, copy_size);
        if (copy.magic != mark_magic || copy.crc != crc_of(copy)) continue;
        if (!best || copy.generation > best->generation) best = copy;
    }
    if (!best) return std::unexpected(Error{EBADMSG, "the writer's record of used queue ids is damaged"});
    return best;
}

} // namespace

Result<std::optional<WriterMark>> read_writer_mark(Disk& disk, const File& file) {
    const auto copy = TRY(read_mark(disk, file));
    if (!copy) return std::nullopt;
    return WriterMark{copy->start, copy->ceiling};
}

struct QueueIdSource::Mark {
    explicit Mark(Disk& d) : disk(d) {}
    Disk& disk;
    File file;
    std::mutex mutex;
    std::condition_variable raised;
    Copy copy;
    bool raising = false;
    std::optional<Error> broken; // a write or sync failed: this file is finished

    // One at a time; `lock` is held on entry and exit, not while the disk works.
    Result<> raise(std::unique_lock<std::mutex>& lock, std::uint64_t ceiling) {
        raised.wait(lock, [&] { return !raising; });
        if (broken) return std::unexpected(*broken);
        if (copy.ceiling >= ceiling) return {};
        raising = true;
        Copy next = copy;
        ++next.generation;
        next.ceiling = ceiling;
        next.crc = crc_of(next);
        lock.unlock();
        auto done = write(next);
        if (done) done = disk.sync_data(file);
        lock.lock();
        raising = false;
        if (done)
            copy = next;
        else
            broken = Error{done.error().code, "the writer's record of used queue ids: " + done.error().what};
        raised.notify_all();
        if (broken) return std::unexpected(*broken);
        return {};
    }
    Result<> write(const Copy& next) {
        const std::string_view part(reinterpret_cast<const char*>(&next), copy_size);
        return disk.write(file, (next.generation & 1) * copy_distance, {&part, 1});
    }
};

std::uint64_t tick_of(smtp::WallTime time) {
    const auto since = time - epoch;
    if (since.count() <= 0) return 0;
    return std::min(static_cast<std::uint64_t>(since.count()) / tick_microseconds, last_tick);
}

smtp::WallTime time_of(QueueId id) {
    return smtp::WallTime(epoch) + smtp::Duration(static_cast<std::int64_t>(id.tick() * tick_microseconds));
}

Result<std::unique_ptr<QueueIdSource>> QueueIdSource::open(Disk& disk, std::uint8_t slot, smtp::WallTime now,
                                                           CommitPool* pool) {
    const auto directory = directory_of(QueueId{slot | std::uint64_t{1} << 8}, Location::incoming);
    TRY(disk.make_directory("incoming", 0700));
    TRY(disk.make_directory(directory, 0700));
    auto mark = std::make_shared<Mark>(disk);
    mark->file = TRY(disk.open(directory + "/" + writer_mark_name, Open::upsert));
    // A predecessor may still be dying.
    auto locked = TRY(disk.lock(mark->file, Lock::exclusive));
    for (int n = 0; n < 200 && locked == Locked::held_by_another; ++n) {
        std::this_thread::sleep_for(5ms);
        locked = TRY(disk.lock(mark->file, Lock::exclusive));
    }
    if (locked == Locked::held_by_another)
        return std::unexpected(Error{EAGAIN, directory + ": used by another writer"});
    auto found = read_mark(disk, mark->file);
    if (!found) return std::unexpected(Error{found.error().code, directory + "/writer: " + found.error().what});

    Copy& copy = mark->copy;
    if (*found) copy = **found;
    const auto spent = copy.ceiling; // every id below may have been given out
    ++copy.generation;
    copy.start = std::max(spent, tick_of(now));
    copy.ceiling = copy.start + block;
    copy.crc = crc_of(copy);
    TRY(mark->write(copy));
    TRY(disk.sync(mark->file));
    for (const auto& named : {directory, std::string("incoming"), std::string(".")}) {
        File opened = TRY(disk.open(named, Open::directory));
        TRY(disk.sync(opened));
    }

    std::unique_ptr<QueueIdSource> source(new QueueIdSource(slot, pool));
    source->last_ = copy.start;
    source->mark_ = std::move(mark);
    return source;
}

QueueIdSource::~QueueIdSource() = default;

// A file whose sync failed is never synced again. Both are locked when the name passes from one to the other.
Result<> QueueIdSource::renew(smtp::WallTime now) {
    std::unique_lock lock(mark_->mutex);
    mark_->raised.wait(lock, [&] { return !mark_->raising; });
    if (!mark_->broken) return {};
    auto& disk = mark_->disk;
    const auto directory = directory_of(QueueId{slot_ | std::uint64_t{1} << 8}, Location::incoming);
    const auto fresh = directory + "/" + new_writer_mark_name;
    if (auto gone = disk.unlink(fresh); !gone && gone.error().code != ENOENT) return gone;
    File file = TRY(disk.open(fresh, Open::create));
    if (TRY(disk.lock(file, Lock::exclusive)) == Locked::held_by_another)
        return std::unexpected(Error{EAGAIN, fresh + ": in use by another process"});
    Copy next = mark_->copy;
    next.generation = (next.generation + 1) | 1; // the second place: as the first mark of a file
    next.ceiling = std::max({next.ceiling, tick_of(now), last_}) + block;
    next.crc = crc_of(next);
    const std::string_view part(reinterpret_cast<const char*>(&next), copy_size);
    TRY(disk.write(file, copy_distance, {&part, 1}));
    TRY(disk.sync(file));
    TRY(disk.rename(fresh, directory + "/" + writer_mark_name));
    File opened = TRY(disk.open(directory, Open::directory));
    TRY(disk.sync(opened));
    mark_->file = std::move(file);
    mark_->copy = next;
    mark_->broken.reset();
    return {};
}

Result<QueueId> QueueIdSource::next(smtp::WallTime now) {
    const auto tick = std::max(tick_of(now), last_ + 1);
    if (tick + 2 * block > last_tick)
        return std::unexpected(Error{ERANGE, "the clock is beyond the range of queue ids"});
    {
        std::unique_lock lock(mark_->mutex);
        if (tick >= mark_->copy.ceiling) TRY(mark_->raise(lock, tick + block));
        const bool soon = mark_->copy.ceiling - tick < block / 2;
        if (soon && pool_ != nullptr && !mark_->raising && !mark_->broken) {
            lock.unlock();
            pool_->post([mark = mark_, ceiling = tick + block] {
                std::unique_lock held(mark->mutex);
                (void)mark->raise(held, ceiling); // what failed shows when the ceiling is reached
            });
        }
    }
    last_ = tick;
    return QueueId{tick << 8 | slot_};
}

} // namespace spool
