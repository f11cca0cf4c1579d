#include "libspool/message/log_fold_cache.h"
#include "libspool/message/writers.h"
#include <algorithm>
#include <utility>

namespace spool {

namespace {

std::unexpected<ReadError> damaged_record(std::string what) {
    return std::unexpected(ReadError{Damaged{Damaged::How::damaged, std::move(what)}});
}

std::optional<LogMark> mark_of(const MessageFile& file) {
    const auto at = std::min<std::size_t>(log_marks_offset, file.head.size());
    return decode_log_marks(file.head.substr(at, 2 * log_mark_size), file.header.id);
}

} // namespace

ReadResult<std::string_view> MessageFile::bytes(std::uint64_t offset, std::uint64_t length, std::string& space) const {
    length = std::min(length, size - std::min(offset, size));
    if (length == 0) return std::string_view();
    if (offset + length <= head.size())
        return head.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
    space.resize(static_cast<std::size_t>(length));
    const auto n = disk.read(file, offset, space);
    if (!n) return std::unexpected(ReadError{n.error()});
    return std::string_view(space).substr(0, *n);
}

ReadResult<FoldedLog> FoldedLog::read(const MessageFile& file) {
    const auto id = file.header.id;
    FoldedLog out;
    {
        std::string space;
        const auto record = file.bytes(file.header.envelope_offset, file.header.envelope_size, space);
        if (!record) return std::unexpected(record.error());
        const auto whole = read_record(*record, id);
        if (!whole || whole->first.type != envelope_type) return damaged_record("envelope: checksum mismatch");
        auto envelope = decode(whole->first.payload);
        if (!envelope) return damaged_record(envelope.error().why);
        if (const auto wrong = violates_writer_rights(*envelope, id.slot()); !wrong.empty())
            return std::unexpected(ReadError{Damaged{Damaged::How::forged, "envelope: " + wrong}});
        out.state = MessageState(std::move(*envelope));
    }
    const auto mark = mark_of(file);
    const auto content_end = file.header.log_offset();
    out.log_begin = mark ? mark->offset : content_end;
    if (out.log_begin < content_end || out.log_begin > file.size) return damaged_record("property log: has no start");
    if (file.size - out.log_begin > largest_payload) return damaged_record("property log: too long");
    out.log_generation = mark ? mark->generation : 0;
    std::string space;
    const auto bytes = file.bytes(out.log_begin, file.size - out.log_begin, space);
    if (!bytes) return std::unexpected(bytes.error());
    const auto log = parse_log(*bytes, id, mark ? mark->first_sequence : 1);
    if (!log.damage.empty() || log.lost > 0 || log.torn_tail) {
        // Perhaps the log has been restarted since the head was read, and its old part given back.
        std::string head(header_size, '\0');
        const auto n = file.disk.read(file.file, 0, head);
        if (!n) return std::unexpected(ReadError{n.error()});
        const auto size = file.disk.size(file.file);
        if (!size) return std::unexpected(ReadError{size.error()});
        const MessageFile now{file.disk, file.file, file.header, std::string_view(head).substr(0, *n), *size};
        if (const auto newer = mark_of(now); newer && newer->generation != out.log_generation) return read(now);
    }
    if (!log.damage.empty()) return damaged_record(log.damage);
    if (mark && log.records.empty()) return damaged_record("property log: checkpoint unreadable");
    if (auto folded = out.fold(log); !folded) return std::unexpected(std::move(folded).error());
    out.log_end = out.log_begin + log.end;
    out.next_sequence = log.next_sequence;
    out.unsynced_records = log.unsynced;
    out.torn_tail = log.torn_tail;
    return out;
}

ReadResult<> FoldedLog::catch_up(const MessageFile& file) {
    const auto anew = [&]() -> ReadResult<> {
        auto all = read(file);
        if (!all) return ReadResult<>(std::unexpect, std::move(all).error());
        *this = *std::move(all);
        return {};
    };
    const auto mark = mark_of(file);
    if ((mark ? mark->generation : 0) != log_generation || file.size < log_end) return anew();
    if (file.size - log_end > largest_payload) return anew();
    std::string space;
    const auto bytes = file.bytes(log_end, file.size - log_end, space);
    if (!bytes) return std::unexpected(bytes.error());
    const auto log = parse_log(*bytes, file.header.id, next_sequence);
    if (!log.damage.empty() || log.lost > 0 || log.torn_tail) return anew();
    if (auto folded = fold(log); !folded) return anew();
    const bool synced = std::ranges::any_of(log.records, &Record::synced);
    unsynced_records = synced ? log.unsynced : unsynced_records + log.unsynced;
    log_end += log.end;
    next_sequence = log.next_sequence;
    torn_tail = false;
    return {};
}

ReadResult<> FoldedLog::fold(const Log& log) {
    for (const auto& one : log.records) {
        const auto property = decode_property(one.type, one.payload);
        if (!property) return damaged_record(property.error().why);
        if (auto folded = state.apply(*property); !folded) return damaged_record(folded.error().why);
    }
    return {};
}

} // namespace spool
