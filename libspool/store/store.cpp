#include "libspool/store/store.h"
#include "libspool/disk/quarantine.h"
#include "libspool/message/file_search.h"
#include "libspool/message/message_reader.h"
#include "libspool/store/reused_file.h"
#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace spool {

namespace {

constexpr std::size_t most_kept = 1024;    // tails of logs
constexpr std::size_t most_handles = 1024; // of reused files

Location other(Location location) { return location == Location::incoming ? Location::messages : Location::incoming; }

// Does `act` to the file at its expected place, then at the other possible one; at last to the reused file that it may
// be in though it was not known to be: nothing that exists may be taken for gone.
template <class Act> auto wherever(Disk& disk, QueueId id, Location hint, Act act) {
    auto result = act(path_of(id, hint));
    const auto nowhere = [&] { return !result && result.error().code == ENOENT; };
    if (nowhere()) result = act(path_of(id, other(hint)));
    if (!nowhere()) return result;
    const auto file = find_in_reused(disk, id);
    if (!file) {
        result = std::unexpected(file.error());
        return result;
    }
    if (*file == own_file) return result;
    ReusedFile reused{.name = *file};
    if (auto own = make_own(disk, id, reused, Location::incoming); !own) {
        result = std::unexpected(std::move(own).error());
        return result;
    }
    result = act(path_of(id, Location::incoming));
    return result;
}

} // namespace

struct Store::Inner : std::enable_shared_from_this<Inner> {
    using Batching = Store::Batching;
    struct File {                    // what an append knows of the one it writes to
        std::optional<LogTail> tail; // before the append, then after it
        bool finished = false;       // nothing more is written to it
        bool replaced = false;       // a copy replaced it
        bool lost = false;           // it has become finished, though the request was carried out
        ReusedFile reused = {};
    };
    struct Operation {
        QueueId id;
        enum class Kind : std::uint8_t { append, move, removal } kind = Kind::move;
        Sync pace = Sync::no; // yes: waits for the disk, so it gets a job of its own
        std::move_only_function<Result<>(Disk&, File&, const std::vector<Property>&)> act;
        std::vector<Property> properties = {}; // append: what is written …
        std::vector<Done> done = {};           // … for each requester, in their order
        Result<> result = {};
        File file = {};
    };
    using Batch = std::vector<Operation>;

    Inner(CommitPool& p, const StoreOptions& o) : pool(p), options(o) {}
    CommitPool& pool;
    const StoreOptions options;
    Batch asked; // since the last flush
    // Messages with an operation in progress, and the operations that wait for it.
    std::unordered_map<QueueId, std::deque<Operation>> busy;
    // Files whose write or sync failed: they are no longer written to; writes go to a copy that replaces them.
    std::unordered_set<QueueId> failed;
    std::unordered_map<QueueId, LogTail> tails; // of messages with long logs that were appended to recently
    std::uint64_t outstanding = 0;
    OccupiedFiles occupied;
    std::unordered_map<QueueId, std::shared_ptr<spool::File>> handles; // of reused files, to wipe them
    FileLeft file_left;

    // Operations without a sync go in batches, few at a time: requests that come meanwhile are collected for the next
    // one.
    Batch quick;
    Batch low_priority; // moves and removals: into `quick` when there are enough of them, or after a while
    unsigned quick_running = 0;
    static constexpr std::size_t largest_batch = 64, worth_a_thread = 32, most_together = 1000;
    static constexpr unsigned most_quick = 2;

    void ask(Operation operation, Done done) {
        ++outstanding;
        operation.done.push_back(std::move(done));
        asked.push_back(std::move(operation));
    }

    bool flush(Batching batching) {
        for (auto& operation : std::exchange(asked, {})) {
            const auto [place, idle] = busy.try_emplace(operation.id);
            if (idle) {
                begin(std::move(operation));
            } else {
                place->second.push_back(std::move(operation));
                batching = Batching::no; // what it waits for may be one of low priority
            }
        }
        if (batching == Batching::no || low_priority.size() >= worth_a_thread) {
            quick.insert(quick.end(), std::make_move_iterator(low_priority.begin()),
                         std::make_move_iterator(low_priority.end()));
            low_priority.clear();
        }
        if (!quick.empty() && quick_running < most_quick) start_quick();
        return !low_priority.empty();
    }

    // Its message is in `busy`.
    void begin(Operation operation) {
        if (const auto* in = occupied.find(operation.id)) {
            operation.file.reused = {.name = in->file, .returnable = in->writer != 0};
            if (const auto known = handles.find(in->file); known != handles.end())
                operation.file.reused.handle = known->second;
        }
        operation.file.finished = failed.contains(operation.id);
        if (operation.kind == Operation::Kind::append) {
            if (failed.contains(operation.id)) tails.erase(operation.id);
            if (auto known = tails.extract(operation.id)) operation.file.tail = known.mapped();
        }
        if (operation.pace == Sync::yes) {
            Batch alone;
            alone.push_back(std::move(operation));
            start(std::move(alone));
        } else if (operation.kind == Operation::Kind::append) {
            quick.push_back(std::move(operation));
        } else {
            low_priority.push_back(std::move(operation));
        }
        if (quick.size() == largest_batch) start_quick();
    }

    // The operation that has waited longest; appends without a sync are combined up to a limit, or many for one message
    // would never get done. With a sync each is written by itself: the next record in the file then says that it was
    // promised.
    static Operation take_next(std::deque<Operation>& waiting) {
        auto next = std::move(waiting.front());
        waiting.pop_front();
        const auto may_be_joined = [](const Operation& each) {
            return each.kind == Operation::Kind::append && each.pace == Sync::no;
        };
        while (!waiting.empty() && may_be_joined(next) && may_be_joined(waiting.front()) &&
               next.properties.size() + waiting.front().properties.size() <= most_together) {
            auto& other = waiting.front();
            std::ranges::move(other.properties, std::back_inserter(next.properties));
            std::ranges::move(other.done, std::back_inserter(next.done));
            waiting.pop_front();
        }
        return next;
    }

    void start_quick() {
        ++quick_running;
        start(std::exchange(quick, {}));
    }

    void start(Batch batch) {
        pool.post([&pool = pool, weak = weak_from_this(), batch = std::move(batch)]() mutable {
            for (auto& operation : batch) {
                operation.result = operation.act(pool.disk(), operation.file, operation.properties);
                operation.act = nullptr;
            }
            pool.complete([weak, batch = std::move(batch)]() mutable {
                if (auto self = weak.lock()) self->finished(std::move(batch));
            });
        });
    }

    void left(QueueId id, ReusedFile& reused) {
        const bool free = reused.now == ReusedFile::Now::free;
        const auto was = occupied.leave(id);
        if (free && handles.size() < most_handles)
            handles.insert_or_assign(reused.name, std::move(reused.handle));
        else
            handles.erase(reused.name);
        if (was.writer != 0 && file_left) file_left(was.writer, was.file, free);
    }

    // Back on the caller's thread.
    void finished(Batch batch) {
        if (batch.front().pace == Sync::no) --quick_running; // all in a batch are of one pace
        bool more = false;
        for (auto& operation : batch) {
            if (operation.file.replaced) failed.erase(operation.id);
            if (operation.kind == Operation::Kind::append &&
                (operation.file.lost || (!operation.result && operation.result.error().code == EIO)))
                failed.insert(operation.id);
            if (operation.kind == Operation::Kind::removal && operation.result) failed.erase(operation.id);
            if (operation.kind == Operation::Kind::removal) tails.erase(operation.id);
            if (operation.file.tail && operation.result) {
                if (tails.size() >= most_kept) tails.clear();
                tails.insert_or_assign(operation.id, *operation.file.tail);
            }
            if (operation.file.reused.now != ReusedFile::Now::occupied) left(operation.id, operation.file.reused);
            // Waiting operations go before later requests.
            if (const auto place = busy.find(operation.id); place->second.empty()) {
                busy.erase(place);
            } else {
                begin(take_next(place->second));
                more = true;
            }
            for (auto& done : operation.done) {
                --outstanding;
                if (done) done(operation.result);
            }
        }
        flush(asked.empty() && !more ? Batching::yes : Batching::no);
    }
};

Store::Store(CommitPool& pool, const StoreOptions& options) : inner_(std::make_shared<Inner>(pool, options)) {}
Store::~Store() { flush(); }
bool Store::flush(Batching batching) { return inner_->flush(batching); }
std::uint64_t Store::outstanding() const { return inner_->outstanding; }

void Store::occupies(QueueId id, QueueId file, OccupiedFiles::Writer writer) {
    inner_->occupied.occupy(id, {file, writer});
}

FileHint Store::hint(QueueId id, Location location) const {
    const auto* in = inner_->occupied.find(id);
    return {location, in ? in->file : own_file};
}

void Store::on_file_left(FileLeft left) { inner_->file_left = std::move(left); }

void Store::writer_left(std::uint8_t slot, OccupiedFiles::Writer writer) {
    inner_->occupied.writer_left(writer);
    std::erase_if(inner_->handles, [&](const auto& each) { return each.first.slot() == slot; });
}

// A message that is not known here may be one that is still to be found: then the file is left to it.
void Store::still_in_use(std::vector<QueueId> files, OccupiedFiles::Writer writer) {
    std::erase_if(files, [&](QueueId file) { return inner_->occupied.belongs_to(file, writer); });
    if (files.empty()) return;
    auto& pool = inner_->pool;
    pool.post([&pool, weak = inner_->weak_from_this(), files = std::move(files), writer] {
        std::vector<std::pair<QueueId, bool>> found;
        for (const auto file : files) found.emplace_back(file, is_free(pool.disk(), file));
        pool.complete([weak, found = std::move(found), writer] {
            const auto self = weak.lock();
            if (!self || !self->file_left) return;
            for (const auto& [file, reusable] : found) self->file_left(writer, file, reusable);
        });
    });
}

void Store::leave_reused_files() {
    for (const auto id : inner_->occupied.messages()) take_over(id);
}

void Store::take_over(QueueId id, Done done) {
    inner_->ask({id, Inner::Operation::Kind::move, Sync::no,
                 [id](Disk& disk, Inner::File& file, auto&) -> Result<> {
                     TRY(make_own(disk, id, file.reused, Location::messages));
                     const auto to = path_of(id, Location::messages);
                     return wherever(disk, id, Location::incoming, [&](const std::string& path) -> Result<> {
                         if (path != to) return disk.rename(path, to);
                         TRY(disk.open(to, Open::read)); // moved already: taking over twice is harmless
                         return {};
                     });
                 }},
                std::move(done));
}

void Store::append(QueueId id, Location hint, std::vector<Property> properties, Sync sync, Done done) {
    auto operation = Inner::Operation{
        .id = id,
        .kind = Inner::Operation::Kind::append,
        .pace = sync,
        .act = [id, hint, sync, options = inner_->options.log](Disk& disk, Inner::File& file,
                                                               const auto& all) -> Result<> {
            TRY(make_own(disk, id, file.reused, Location::incoming));
            return wherever(disk, id, hint, [&](const std::string& path) -> Result<> {
                if (file.finished && !file.replaced) {
                    TRY(put_copy_in_place(disk, path, id));
                    file.replaced = true;
                }
                return append_to(disk, path, id, all, sync, options, file.tail, file.lost);
            });
        },
        .properties = std::move(properties),
    };
    inner_->ask(std::move(operation), std::move(done));
}

void Store::remove(QueueId id, Location hint, Done done) {
    inner_->ask({id, Inner::Operation::Kind::removal, Sync::no,
                 [id, hint, finished = inner_->options.finished](Disk& disk, Inner::File& file, auto&) -> Result<> {
                     if (file.reused.name.valid() && TRY(remove_from(disk, id, file.reused, finished))) return {};
                     auto gone = wherever(
                         disk, id, hint, [&](const std::string& path) { return remove_own(disk, path, id, finished); });
                     if (!gone && gone.error().code == ENOENT) return {};
                     return gone;
                 }},
                std::move(done));
}

// A file whose sync failed is not written to again: what it did not promise cannot be made durable, and it is not kept.
void Store::keep_failed(QueueId id, Location hint, std::vector<Property> last, Done done) {
    const auto keep = [id, options = inner_->options.log](Disk& disk, const std::string& path, Inner::File& file,
                                                          const std::vector<Property>& records) -> Result<> {
        if (file.finished) return std::unexpected(Error{EIO, path + ": a sync of it has failed"});
        if (!records.empty())
            TRY(append_to(disk, path, id, records, Sync::yes, options, file.tail, file.lost));
        else
            TRY(disk.sync_data(TRY(disk.open(path, Open::read_write))));
        return disk.rename(path, path_of_failed(id));
    };
    inner_->ask({.id = id,
                 .kind = Inner::Operation::Kind::removal,
                 .pace = Sync::yes,
                 .act = [id, hint, keep](Disk& disk, Inner::File& file, const auto& records) -> Result<> {
                     TRY(make_own(disk, id, file.reused, Location::incoming));
                     auto gone = wherever(disk, id, hint,
                                          [&](const std::string& path) { return keep(disk, path, file, records); });
                     file.tail.reset();
                     if (!gone && gone.error().code == ENOENT) return {};
                     return gone;
                 },
                 .properties = std::move(last)},
                std::move(done));
}

void Store::move_to_removed(QueueId id, Location hint, Done done) {
    inner_->ask({id, Inner::Operation::Kind::removal, Sync::no,
                 [id, hint](Disk& disk, Inner::File& file, auto&) -> Result<> {
                     TRY(make_own(disk, id, file.reused, Location::incoming));
                     auto gone = wherever(disk, id, hint, [&](const std::string& path) {
                         return disk.rename(path, path_of_removed(id));
                     });
                     if (!gone && gone.error().code == ENOENT) return {};
                     return gone;
                 }},
                std::move(done));
}

void Store::restore(QueueId id, std::string who, smtp::WallTime now, Done done) {
    inner_->ask({id, Inner::Operation::Kind::move, Sync::yes,
                 [id, who = std::move(who), now, options = inner_->options.log](Disk& disk, auto&, auto&) -> Result<> {
                     const auto path = path_of_removed(id);
                     StatusChanged pending{
                         .recipients = {}, .status = Status::pending, .time = now, .reply = {}, .who = who};
                     {
                         const auto reader = MessageReader::open_path(disk, path);
                         if (!reader) return std::unexpected(as_error(reader.error()));
                         const auto& recipients = reader->state().recipients;
                         for (std::uint32_t n = 0; n < recipients.size(); ++n)
                             if (recipients[n].status == Status::removed) pending.recipients.push_back(n);
                         if (pending.recipients.empty() && reader->state().finished())
                             return std::unexpected(Error{ENODATA, id.text() + ": it has no open recipients"});
                     }
                     std::optional<LogTail> tail;
                     bool finished = false;
                     TRY(append_to(disk, path, id, {Property{std::move(pending)}}, Sync::yes, options, tail, finished));
                     TRY(disk.rename(path, path_of(id, Location::messages)));
                     return disk.sync(TRY(disk.open(directory_of(id, Location::messages), Open::directory)));
                 }},
                std::move(done));
}

void Store::quarantine(QueueId id, Location hint, std::string why, Done done) {
    inner_->ask({id, Inner::Operation::Kind::removal, Sync::yes,
                 [id, hint, why = std::move(why)](Disk& disk, Inner::File& file, auto&) -> Result<> {
                     TRY(make_own_even_if_damaged(disk, id, file.reused));
                     return wherever(disk, id, hint, [&](const std::string& path) -> Result<> {
                         TRY(quarantine_file(disk, path, "quarantine", id.text(), why));
                         return {};
                     });
                 }},
                std::move(done));
}

void Store::move_to_bad(QueueId id, Location hint, std::string why, Done done) {
    inner_->ask({id, Inner::Operation::Kind::removal, Sync::yes,
                 [id, hint, why = std::move(why)](Disk& disk, Inner::File& file, auto&) -> Result<> {
                     TRY(make_own_even_if_damaged(disk, id, file.reused));
                     return wherever(disk, id, hint, [&](const std::string& path) -> Result<> {
                         TRY(quarantine_file(disk, path, "bad", id.text(), why));
                         return {};
                     });
                 }},
                std::move(done));
}

Result<> prepare_spool(Disk& disk, const std::vector<std::uint8_t>& slots) {
    for (const char* path :
         {"incoming", "messages", "removed", "failed", "bad", "quarantine", "quarantine/incomplete", "index"})
        TRY(disk.make_directory(path, 0700));
    for (unsigned n = 0; n < 256; ++n) {
        constexpr std::string_view digits = "0123456789abcdef";
        TRY(disk.make_directory(std::string("messages/") + digits[n >> 4] + digits[n & 15], 0700));
    }
    for (const auto slot : slots)
        TRY(disk.make_directory(directory_of(QueueId{std::uint64_t{1} << 8 | slot}, Location::incoming), 0700));
    for (const char* path : {"messages", "incoming", "quarantine", "."}) {
        File directory = TRY(disk.open(path, Open::directory));
        TRY(disk.sync(directory));
    }
    return {};
}

} // namespace spool
