#include "libspool/store/store.h"
#include "libspool/disk/quarantine.h"
#include "libspool/format/record.h"
#include "libspool/message/message_reader.h"
#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace spool {

namespace {

constexpr std::uint64_t hole_unit = 4096;

Location other(Location location) { return location == Location::incoming ? Location::messages : Location::incoming; }

// Does `act` to the file at its expected place, then at the other possible one.
template <class Act> auto wherever(QueueId id, Location hint, Act act) {
    auto result = act(path_of(id, hint));
    if (!result && result.error().code == ENOENT) result = act(path_of(id, other(hint)));
    return result;
}

Error as_error(const ReadError& error) {
    if (const auto* world = std::get_if<Error>(&error)) return *world;
    return Error{EBADMSG, std::get<Damaged>(error).what};
}

// After a failed sync, whatever the reason, the kernel has forgotten what it was to write: EIO signals that.
Result<> sync_or_finish(Disk& disk, const File& file) {
    auto done = disk.sync_data(file);
    if (!done) return std::unexpected(Error{EIO, std::move(done).error().what});
    return {};
}

// A file whose write or sync failed is finished: the kernel has forgotten what it did not write, and the file is never
// synced again. A whole copy replaces it: durable before the rename, and until that is durable the old file is found.
Result<> put_copy_in_place(Disk& disk, const std::string& path, QueueId id) {
    auto reader = MessageReader::open_path(disk, path);
    if (!reader) return std::unexpected(as_error(reader.error()));
    for (std::uint64_t at = 0; at < reader->size();) {
        const auto piece = reader->piece(at);
        if (!piece) return std::unexpected(as_error(piece.error()));
        at += piece->size();
    }
    const File from = TRY(disk.open(path, Open::read));
    const auto fresh = "index/copy-" + id.text();
    if (auto gone = disk.unlink(fresh); !gone && gone.error().code != ENOENT) return gone;
    {
        const File to = TRY(disk.open(fresh, Open::create));
        std::string piece(256 * 1024, '\0');
        for (std::uint64_t at = 0; at < reader->log_end();) {
            const auto wanted = std::min<std::uint64_t>(piece.size(), reader->log_end() - at);
            const auto n = TRY(disk.read(from, at, std::span(piece).first(static_cast<std::size_t>(wanted))));
            if (n == 0) return std::unexpected(Error{EIO, path + ": cut short"});
            const std::string_view part = std::string_view(piece).substr(0, n);
            TRY(disk.write(to, at, {&part, 1}));
            at += n;
        }
        TRY(disk.sync(to));
    }
    TRY(disk.rename(fresh, path));
    return disk.sync(TRY(disk.open(path.substr(0, path.rfind('/')), Open::directory)));
}

// Where a message's log ended after an append. We are the only writer: as long as it ends there and was not restarted,
// it need not be read again for the next append. Kept only for long logs, which are worth it.
struct LogTail {
    std::uint64_t begin = 0, end = 0; // in the file
    std::uint32_t generation = 0, next_sequence = 1, unsynced = 0;
    std::uint64_t checkpoint = 0; // length of the one it begins with; 0: none
};
constexpr std::size_t most_kept = 1024;

// Restarts the log: the checkpoint goes after what is there, durable; then the mark that points to it, durable; then
// the old part may go. If interrupted at any point, either the old or the new log is whole.
Result<LogTail> start_log_anew(Disk& disk, const File& file, QueueId id, const std::string& path) {
    auto reader = MessageReader::open_path(disk, path);
    if (!reader) return std::unexpected(as_error(reader.error()));
    const auto checkpoint = encode(Property{reader->state().checkpoint()});
    std::string bytes;
    append_record(bytes, id,
                  Record{type_of(Checkpoint{}), reader->next_sequence(), true,
                         static_cast<std::uint16_t>(reader->unsynced_records()), checkpoint});
    const auto at = reader->log_end();
    std::string_view part = bytes;
    TRY(disk.write(file, at, {&part, 1}));
    TRY(sync_or_finish(disk, file));
    const LogMark mark{at, reader->log_generation() + 1, reader->next_sequence()};
    const auto mark_bytes = encode_log_mark(mark, id);
    part = mark_bytes;
    TRY(disk.write(file, log_marks_offset + (mark.generation & 1) * log_mark_size, {&part, 1}));
    TRY(sync_or_finish(disk, file));
    const auto from = (reader->log_begin() + hole_unit - 1) / hole_unit * hole_unit;
    const auto to = at / hole_unit * hole_unit;
    if (to > from) (void)disk.punch_hole(file, from, to - from); // saves space, nothing depends on it
    return LogTail{at, at + bytes.size(), mark.generation, mark.first_sequence + 1, 0, checkpoint.size()};
}

// The state of the log in the file; `lost`: records are missing whose durability was never promised.
struct FoundLog {
    LogTail tail;
    bool torn = false, lost = false;
};
Result<FoundLog> find_log(Disk& disk, const File& file, const FileHeader& header, const std::optional<LogMark>& mark,
                          std::uint64_t size, const std::string& path) {
    const auto begin = mark ? mark->offset : header.log_offset();
    if (begin > size || size - begin > largest_payload)
        return std::unexpected(Error{EBADMSG, path + ": property log: has no start"});
    std::string bytes(static_cast<std::size_t>(size - begin), '\0');
    bytes.resize(TRY(disk.read(file, begin, bytes)));
    const auto log = parse_log(bytes, header.id, mark ? mark->first_sequence : 1);
    if (!log.damage.empty()) return std::unexpected(Error{EBADMSG, path + ": " + log.damage});
    const bool anew = !log.records.empty() && log.records.front().type == type_of(Checkpoint{});
    return FoundLog{{begin, begin + log.end, mark ? mark->generation : 0, log.next_sequence, log.unsynced,
                     anew ? log.records.front().payload.size() : 0},
                    log.torn_tail,
                    log.lost > 0};
}

// `tail`: of the last append, if known; then of this one. On an error nothing of it is in the file, because the caller
// continues as if it had not happened. `finished`: it is in the file, which must not be written to any longer.
Result<> append_to(Disk& disk, const std::string& path, QueueId id, const std::vector<Property>& properties, Sync sync,
                   const StoreOptions& options, std::optional<LogTail>& tail, bool& finished) {
    File file = TRY(disk.open(path, Open::read_write));
    const auto before = std::exchange(tail, {});
    std::string head(header_size, '\0');
    head.resize(TRY(disk.read(file, 0, head)));
    const auto header = decode_header(head);
    if (!header) return std::unexpected(Error{EBADMSG, path + ": " + header.error().second});
    if (header->id != id) return std::unexpected(Error{EBADMSG, path + ": is another message"});
    const auto mark = decode_log_marks(std::string_view(head).substr(log_marks_offset), id);
    const auto size = TRY(disk.size(file));
    FoundLog log;
    if (before && before->end == size && before->generation == (mark ? mark->generation : 0))
        log.tail = *before;
    else
        log = TRY(find_log(disk, file, *header, mark, size, path));

    std::string bytes;
    auto& [begin, end, generation, sequence, unsynced, checkpoint] = log.tail;
    const auto at = end;
    for (const auto& property : properties) {
        const auto payload = encode(property);
        append_record(bytes, id,
                      Record{type_of(property), sequence++, sync == Sync::yes,
                             static_cast<std::uint16_t>(std::min<std::uint32_t>(unsynced++, 0x7fff)), payload});
    }
    if (log.torn) TRY(disk.truncate(file, at)); // so that nothing of it can look like a record
    const std::string_view part = bytes;
    if (auto put = disk.write(file, at, {&part, 1}); !put) {
        (void)disk.truncate(file, at); // no room for all of it: leave nothing
        return put;
    }
    if (sync == Sync::yes) {
        if (auto synced = sync_or_finish(disk, file); !synced) {
            (void)disk.truncate(file, at);
            return synced;
        }
        unsynced = 0;
    }
    end += bytes.size();
    if (end - begin > options.log_limit + 2 * checkpoint || log.lost) {
        auto anew = start_log_anew(disk, file, id, path);
        if (anew)
            tail = *anew;
        else
            finished = anew.error().code == EIO; // the old log is whole
    } else if (end - begin > options.long_log)
        tail = log.tail;
    return {};
}

} // namespace

struct Store::Inner : std::enable_shared_from_this<Inner> {
    using Batching = Store::Batching;
    struct File {                    // what an append knows of the one it writes to
        std::optional<LogTail> tail; // before the append, then after it
        bool finished = false;       // nothing more is written to it
        bool replaced = false;       // a copy replaced it
        bool lost = false;           // it has become finished, though the request was carried out
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
        if (operation.kind == Operation::Kind::append) {
            if (failed.contains(operation.id)) tails.erase(operation.id);
            operation.file.finished = failed.contains(operation.id);
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

void Store::take_over(QueueId id, Done done) {
    inner_->ask({id, Inner::Operation::Kind::move, Sync::no,
                 [id](Disk& disk, auto&, auto&) -> Result<> {
                     const auto to = path_of(id, Location::messages);
                     auto moved = disk.rename(path_of(id, Location::incoming), to);
                     if (moved || moved.error().code != ENOENT) return moved;
                     TRY(disk.open(to, Open::read)); // moved already: taking over twice is harmless
                     return {};
                 }},
                std::move(done));
}

void Store::append(QueueId id, Location hint, std::vector<Property> properties, Sync sync, Done done) {
    auto operation = Inner::Operation{
        .id = id,
        .kind = Inner::Operation::Kind::append,
        .pace = sync,
        .act =
            [id, hint, sync, options = inner_->options](Disk& disk, Inner::File& file, const auto& all) {
                return wherever(id, hint, [&](const std::string& path) -> Result<> {
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
                 [id, hint](Disk& disk, auto&, auto&) -> Result<> {
                     auto gone = wherever(id, hint, [&](const std::string& path) { return disk.unlink(path); });
                     if (!gone && gone.error().code == ENOENT) return {};
                     return gone;
                 }},
                std::move(done));
}

void Store::move_to_removed(QueueId id, Location hint, Done done) {
    inner_->ask({id, Inner::Operation::Kind::removal, Sync::no,
                 [id, hint](Disk& disk, auto&, auto&) -> Result<> {
                     auto gone = wherever(
                         id, hint, [&](const std::string& path) { return disk.rename(path, path_of_removed(id)); });
                     if (!gone && gone.error().code == ENOENT) return {};
                     return gone;
                 }},
                std::move(done));
}

void Store::restore(QueueId id, std::string who, smtp::WallTime now, Done done) {
    inner_->ask({id, Inner::Operation::Kind::move, Sync::yes,
                 [id, who = std::move(who), now, options = inner_->options](Disk& disk, auto&, auto&) -> Result<> {
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
                 [id, hint, why = std::move(why)](Disk& disk, auto&, auto&) -> Result<> {
                     return wherever(id, hint, [&](const std::string& path) -> Result<> {
                         TRY(quarantine_file(disk, path, "quarantine", id.text(), why));
                         return {};
                     });
                 }},
                std::move(done));
}

void Store::move_to_bad(QueueId id, Location hint, std::string why, Done done) {
    inner_->ask({id, Inner::Operation::Kind::removal, Sync::yes,
                 [id, hint, why = std::move(why)](Disk& disk, auto&, auto&) -> Result<> {
                     return wherever(id, hint, [&](const std::string& path) -> Result<> {
                         TRY(quarantine_file(disk, path, "bad", id.text(), why));
                         return {};
                     });
                 }},
                std::move(done));
}

Result<> prepare_spool(Disk& disk, const std::vector<std::uint8_t>& slots) {
    for (const char* path : {"incoming", "messages", "removed", "bad", "quarantine", "quarantine/incomplete", "index"})
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
