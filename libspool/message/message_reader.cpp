#include "libspool/message/message_reader.h"
#include "libspool/disk/not_a_file.h"
#include "libspool/format/crc32c.h"
#include "libspool/format/record.h"
#include "libspool/message/file_search.h"
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

namespace spool {

namespace {
constexpr std::size_t first_read = 64 * 1024, first_read_of_reused = 8 * 1024;
constexpr auto pause_for_lock = std::chrono::microseconds(100);

std::unexpected<ReadError> damaged(std::string what) {
    return std::unexpected(ReadError{Damaged{Damaged::How::damaged, std::move(what)}});
}
std::unexpected<ReadError> unsealed(std::string what) {
    return std::unexpected(ReadError{Damaged{Damaged::How::unsealed, std::move(what)}});
}
std::unexpected<ReadError> failed(Error error) { return std::unexpected(ReadError{std::move(error)}); }

std::unexpected<ReadError> failed_to_begin(Error error) {
    if (is_not_a_file(error)) error.what = "not a regular file";
    return failed(std::move(error));
}

// A reused file holds another message by now, or none.
Error another_message() { return Error{ESTALE, "holds another message"}; }
bool is_of_another(const ReadError& error) {
    const auto* world = std::get_if<Error>(&error);
    return world && world->code == ESTALE;
}

// The head of the file, for a message of ordinary size all of it. A reused file is longer than most of its messages:
// what others have left behind this one is not read.
Result<std::size_t> read_head(Disk& disk, const File& file, FileHint at, std::span<char> into) {
    if (!at.reused.valid()) return disk.read(file, 0, into);
    const auto got = TRY(disk.read(file, 0, into.first(first_read_of_reused)));
    const std::string_view head(into.data(), got);
    const auto header = decode_header(head);
    if (got < first_read_of_reused || !header) return got;
    const auto end =
        is_kept_file(head, header->id) ? into.size() : std::min<std::uint64_t>(header->log_offset(), into.size());
    if (end <= got) return got;
    return got + TRY(disk.read(file, got, into.subspan(got, static_cast<std::size_t>(end) - got)));
}

std::string hex(std::uint32_t n) {
    char text[12];
    std::snprintf(text, sizeof text, "%08x", n);
    return text;
}
} // namespace

std::string text_of(const ReadError& error) {
    if (const auto* world = std::get_if<Error>(&error)) return world->what;
    return std::get<Damaged>(error).what;
}

ReadResult<MessageReader> MessageReader::open(Disk& disk, QueueId id, FileHint hint, ReadLock lock,
                                              std::shared_ptr<FoldedLog> known) {
    FileSearch search(disk, id, hint);
    for (;;) {
        auto found = search.next();
        if (!found) return failed_to_begin(std::move(found).error());
        if (!*found) return failed(Error::from_errno("open " + path_of(id, hint.location), ENOENT));
        auto& [file, at] = **found;
        if (lock == ReadLock::shared) {
            // Who looks whether anybody delivers this holds the lock exclusively, for a moment.
            auto locked = disk.lock(file, Lock::shared);
            for (int n = 0; n < 100 && locked && *locked == Locked::held_by_another; ++n) {
                std::this_thread::sleep_for(pause_for_lock);
                locked = disk.lock(file, Lock::shared);
            }
            if (!locked) return failed(std::move(locked).error());
            if (*locked == Locked::held_by_another)
                return failed(Error{EAGAIN, id.text() + ": its file is locked by another process"});
        }
        auto reader = load(disk, file, at, id, known);
        // Damage in a reused file is a message that its writer is just writing there, unless it stays.
        for (int n = 0; n < 2 && at.reused.valid() && !reader && std::holds_alternative<Damaged>(reader.error()); ++n)
            reader = load(disk, file, at, id, known);
        if (!reader && is_of_another(reader.error())) continue;
        return reader;
    }
}

ReadResult<MessageReader> MessageReader::open(KeptFiles& files, QueueId id, FileHint hint,
                                              std::shared_ptr<FoldedLog> known) {
    auto& disk = files.disk();
    if (auto file = hint.reused.valid() ? files.take(hint.reused) : File()) {
        const auto locked = disk.lock(file, Lock::shared);
        if (locked && *locked == Locked::yes)
            if (auto reader = load(disk, file, hint, id, known); reader && reader->size_in_reused_) {
                reader->file_.belongs_to(files, hint.reused);
                return reader;
            }
        // Whatever it is by now (a message may have kept the file, and its name is another one then): names decide.
    }
    auto reader = open(disk, id, hint, ReadLock::shared, std::move(known));
    if (reader && reader->size_in_reused_) reader->file_.belongs_to(files, reader->at_.reused);
    return reader;
}

ReadResult<MessageReader> MessageReader::open_path(Disk& disk, const std::string& path) {
    auto file = disk.open(path, Open::read);
    if (!file) return failed_to_begin(std::move(file).error());
    return load(disk, *file, {Location::incoming, reused_file_named(path).value_or(own_file)}, {}, nullptr);
}

ReadResult<MessageReader> MessageReader::load(Disk& disk, File& file, FileHint at, std::optional<QueueId> expected,
                                              std::shared_ptr<FoldedLog> known) {
    std::array<char, first_read> head_space; // not cleared on purpose
    const auto got = read_head(disk, file, at, head_space);
    if (!got) return failed_to_begin(got.error());
    const std::string_view head(head_space.data(), *got);
    const bool all = *got < head_space.size();

    const auto header = decode_header(head);
    const bool any_message = !expected || !at.reused.valid();
    if (!any_message && (!header || header->id != *expected)) return failed(another_message());
    if (!header) {
        const auto& [fault, what] = header.error();
        const auto how = fault == HeaderFault::unsealed ? Damaged::How::unsealed
                         : fault == HeaderFault::newer  ? Damaged::How::newer
                                                        : Damaged::How::damaged;
        return std::unexpected(ReadError{Damaged{how, what}});
    }
    if (expected && header->id != *expected)
        return damaged("header: is of " + header->id.text() + ", not of " + expected->text());

    MessageReader r;
    r.disk_ = &disk;
    r.id_ = header->id;
    r.at_ = at;
    r.header_checksum_ = checksum_of_header(head);
    r.content_ = header->content;
    r.content_offset_ = header->content_offset;
    std::uint64_t size = *got;
    const bool shared_file = at.reused.valid() && !is_kept_file(head, header->id);
    if (shared_file) {
        // What follows is left from other messages: no record is appended here.
        if (header->log_offset() > size) return unsealed("content: cut short");
        size = header->log_offset();
        r.size_in_reused_ = size;
    } else if (!all) {
        auto there = disk.size(file);
        if (!there) return failed(std::move(there).error());
        size = *there;
    }
    if (header->log_offset() > size) return unsealed("content: cut short");
    const MessageFile begun{disk, file, *header, head, size};
    if (known) {
        if (auto now = known->catch_up(begun); !now) return std::unexpected(std::move(now).error());
        r.folded_ = std::move(known);
    } else {
        auto all = FoldedLog::read(begun);
        if (!all) return std::unexpected(std::move(all).error());
        r.folded_ = std::make_shared<FoldedLog>(*std::move(all));
    }

    r.content_at_hand_ = r.content_offset_ + r.content_.size <= *got;
    if (r.content_at_hand_)
        r.buffer_.assign(
            head.substr(static_cast<std::size_t>(r.content_offset_), static_cast<std::size_t>(r.content_.size)));
    if (at.reused.valid()) {
        if (!r.content_at_hand_) return damaged("content: longer than a reused file");
        if (const auto crc = crc32c(r.buffer_); crc != r.content_.crc)
            return damaged("content: checksum is " + hex(crc) + ", should be " + hex(r.content_.crc));
        r.content_checked_ = true;
    }
    r.file_ = std::move(file);
    if (!r.envelope().edits.empty())
        if (auto edited = r.edit(); !edited) return std::unexpected(std::move(edited).error());
    return r;
}

Result<std::uint64_t> MessageReader::stored_size() {
    if (size_in_reused_) return *size_in_reused_;
    return disk_->size(file_);
}

Result<std::size_t> MessageReader::read_stored(std::uint64_t offset, std::span<char> into) {
    if (size_in_reused_) {
        const auto left = *size_in_reused_ - std::min(offset, *size_in_reused_);
        into = into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left)));
    }
    return disk_->read(file_, offset, into);
}

bool MessageReader::held_by_another() {
    auto locked = disk_->lock(file_, Lock::exclusive);
    for (int n = 0; n < 3 && locked && *locked == Locked::held_by_another; ++n) { // another may just ask, too
        std::this_thread::sleep_for(pause_for_lock);
        locked = disk_->lock(file_, Lock::exclusive);
    }
    if (!locked) return false;
    if (*locked == Locked::held_by_another) return true;
    (void)disk_->unlock(file_); // what fails here ends with the reader
    return false;
}

// From here on what is read is the edited view.
ReadResult<> MessageReader::edit() {
    const auto& edits = envelope().edits;
    if (edits.header_size > content_.size || edits.header_size > largest_edited_header)
        return damaged("edits: beyond the end of the header");
    skipped_ = edits.header_size;
    std::string header;
    if (content_at_hand_) {
        header = buffer_.substr(0, static_cast<std::size_t>(skipped_));
        stored_crc_ = crc32c(buffer_);
    } else {
        header.resize(static_cast<std::size_t>(skipped_));
        const auto n = disk_->read(file_, content_offset_, header);
        if (!n) return failed(n.error());
        if (*n != header.size()) return damaged("content: cut short");
        stored_crc_ = crc32c(header);
    }
    auto edited = edited_header(header, edits.changes);
    if (!edited) return damaged("edits: " + edited.error());
    edited_ = *std::move(edited);
    if (content_at_hand_) buffer_.replace(0, static_cast<std::size_t>(skipped_), edited_);
    content_.size += edited_.size() - skipped_;
    content_.body_offset = edited_.size();
    return {};
}

ReadResult<std::string_view> MessageReader::small_content() {
    if (!content_at_hand_) return failed(Error{EFBIG, "content is not in memory"});
    if (!content_checked_) {
        const auto crc = edited_.empty() ? crc32c(buffer_) : stored_crc_;
        if (crc != content_.crc)
            return damaged("content: checksum is " + hex(crc) + ", should be " + hex(content_.crc));
        content_checked_ = true;
    }
    return std::string_view(buffer_);
}

ReadResult<std::string_view> MessageReader::piece(std::uint64_t offset, std::size_t max) {
    if (offset >= content_.size) {
        if (content_.size == 0 && content_.crc != 0) return damaged("content: checksum of empty content is not 0");
        return std::string_view();
    }
    auto length = static_cast<std::size_t>(std::min<std::uint64_t>(max, content_.size - offset));
    std::string_view view;
    bool stored = edited_.empty(); // are these bytes of the file as they lie there?
    if (content_at_hand_) {
        view = std::string_view(buffer_).substr(static_cast<std::size_t>(offset), length);
    } else if (offset < edited_.size()) {
        view = std::string_view(edited_).substr(static_cast<std::size_t>(offset), length);
        length = view.size();
    } else {
        stored = true;
        piece_.resize(length);
        const auto n = disk_->read(file_, content_offset_ + skipped_ + (offset - edited_.size()), piece_);
        if (!n) return failed(n.error());
        if (*n != length) return damaged("content: cut short");
        view = piece_;
    }
    if (offset == 0) next_piece_ = 0, running_crc_ = stored_crc_;
    if (offset == next_piece_) {
        if (stored) running_crc_ = crc32c(view, running_crc_);
        next_piece_ += length;
        if (next_piece_ == content_.size && running_crc_ != content_.crc)
            return damaged("content: checksum is " + hex(running_crc_) + ", should be " + hex(content_.crc));
    }
    return view;
}

ReadResult<std::string> MessageReader::read_content(std::uint64_t limit) {
    std::string out;
    const auto wanted = std::min(limit, content_.size);
    out.reserve(static_cast<std::size_t>(wanted));
    while (out.size() < wanted) {
        auto more =
            piece(out.size(), static_cast<std::size_t>(std::min<std::uint64_t>(256 * 1024, wanted - out.size())));
        if (!more) return std::unexpected(std::move(more).error());
        out += *more;
    }
    return out;
}

ReadResult<std::string> MessageReader::read_header(std::uint64_t limit) {
    const auto length = std::min(limit, content_.body_offset);
    std::string out;
    if (content_at_hand_) {
        out = buffer_.substr(0, static_cast<std::size_t>(length));
    } else if (!edited_.empty()) {
        out = edited_.substr(0, static_cast<std::size_t>(length));
    } else {
        out.resize(static_cast<std::size_t>(length));
        const auto n = disk_->read(file_, content_offset_, out);
        if (!n) return failed(n.error());
        out.resize(*n);
    }
    if (length == content_.body_offset && out.ends_with("\r\n\r\n"))
        out.resize(out.size() - 2);
    else if (out == "\r\n")
        out.clear();
    return out;
}

} // namespace spool
