#include "libspool/store/property_log.h"
#include "libspool/format/record.h"
#include "libspool/message/message_reader.h"
#include <algorithm>
#include <utility>

namespace spool {

namespace {

constexpr std::uint64_t hole_unit = 4096;

// After a failed sync, whatever the reason, the kernel has forgotten what it was to write: EIO signals that.
Result<> sync_or_finish(Disk& disk, const File& file) {
    auto done = disk.sync_data(file);
    if (!done) return std::unexpected(Error{EIO, std::move(done).error().what});
    return {};
}

// Restarts the log: the checkpoint goes after what is there, durable; then the mark that points to it, durable; then
// the old part may go. If interrupted at any point, either the old or the new log is whole.
Result<LogTail> restart_log(Disk& disk, const File& file, QueueId id, const std::string& path) {
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
    const bool restarted = !log.records.empty() && log.records.front().type == type_of(Checkpoint{});
    return FoundLog{{begin, begin + log.end, mark ? mark->generation : 0, log.next_sequence, log.unsynced,
                     restarted ? log.records.front().payload.size() : 0},
                    log.torn_tail,
                    log.lost > 0};
}

} // namespace

Error as_error(const ReadError& error) {
    if (const auto* world = std::get_if<Error>(&error)) return *world;
    return Error{EBADMSG, std::get<Damaged>(error).what};
}

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

Result<> append_to(Disk& disk, const std::string& path, QueueId id, const std::vector<Property>& properties, Sync sync,
                   const LogLimits& options, std::optional<LogTail>& tail, bool& finished) {
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
        auto begun = restart_log(disk, file, id, path);
        if (begun)
            tail = *begun;
        else
            finished = begun.error().code == EIO; // the old log is whole
    } else if (end - begin > options.long_log)
        tail = log.tail;
    return {};
}

} // namespace spool
