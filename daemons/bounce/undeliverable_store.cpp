#include "daemons/bounce/undeliverable_store.h"
#include "libspool/message/message_reader.h"
#include <cerrno>
#include <fmt/format.h>
#include <optional>
#include <string>

namespace bounce {
namespace {

using spool::Result;

constexpr std::size_t longest_why = 64 * 1024, longest_header = 64 * 1024;

spool::Error as_error(const spool::ReadError& error) {
    if (const auto* world = std::get_if<spool::Error>(&error)) return *world;
    return {EIO, spool::text_of(error)};
}

// A message's file, to be copied as it is, even if it is damaged; of a reused file only what is this message's.
class StoredFile {
public:
    static Result<StoredFile> open(spool::Disk& disk, spool::QueueId id, spool::FileHint hint) {
        using spool::Location;
        StoredFile out(disk);
        const auto other = hint.location == Location::incoming ? Location::messages : Location::incoming;
        for (const auto place : {hint.location, other}) {
            auto file = disk.open(path_of(id, place), spool::Open::read);
            if (!file && file.error().code == ENOENT) continue;
            if (!file) return std::unexpected(file.error());
            out.own_ = std::move(*file);
            return out;
        }
        auto reader = spool::MessageReader::open(disk, id, hint);
        if (!reader) return std::unexpected(as_error(reader.error()));
        out.in_reused_ = std::move(*reader);
        return out;
    }
    Result<std::uint64_t> size() { return in_reused_ ? in_reused_->stored_size() : disk_.size(own_); }
    Result<std::size_t> read(std::uint64_t offset, std::string& into) {
        return in_reused_ ? in_reused_->read_stored(offset, into) : disk_.read(own_, offset, into);
    }

private:
    explicit StoredFile(spool::Disk& disk) : disk_(disk) {}
    spool::Disk& disk_;
    spool::File own_;
    std::optional<spool::MessageReader> in_reused_;
};

// The directory is synced, too: both names are there to stay.
Result<> write_why(spool::Disk& disk, const std::string& name, std::string_view why) {
    const spool::File reason = TRY(disk.open(name + ".why", spool::Open::upsert));
    const auto there = TRY(disk.size(reason));
    const std::string line = fmt::format("{}\n", why.substr(0, longest_why));
    const std::string_view part = line;
    if (there < longest_why) TRY(disk.write(reason, there, {&part, 1}));
    TRY(disk.sync(reason));
    return disk.sync(TRY(disk.open("bad", spool::Open::directory)));
}

} // namespace

static Result<CopiedPart> keep_header(spool::Disk& disk, spool::QueueId id, spool::FileHint hint,
                                      std::string_view why) {
    auto reader = spool::MessageReader::open(disk, id, hint, spool::ReadLock::none);
    if (!reader) return std::unexpected(as_error(reader.error()));
    auto header = reader->read_header(longest_header);
    if (!header) return std::unexpected(spool::Error{EIO, spool::text_of(header.error())});
    const std::string name = "bad/" + id.text() + ".header";
    const spool::File to = TRY(disk.open(name, spool::Open::upsert));
    TRY(disk.truncate(to, 0));
    const std::string_view part = *header;
    TRY(disk.write(to, 0, {&part, 1}));
    TRY(disk.sync(to));
    TRY(write_why(disk, name, fmt::format("only the header of {} bytes is kept\n{}", reader->size(), why)));
    return CopiedPart::header;
}

Result<CopiedPart> copy_to_bad(spool::Disk& disk, spool::QueueId id, spool::FileHint hint, std::string_view why,
                               const StoreLimits& limits) {
    auto from = TRY(StoredFile::open(disk, id, hint));
    const auto size = TRY(from.size());
    if (size > limits.message || TRY(spool::check_free_space(disk, limits.floor, size)) != spool::FreeSpace::enough)
        return keep_header(disk, id, hint, why);
    const std::string name = "bad/" + id.text();
    const spool::File to = TRY(disk.open(name, spool::Open::upsert));
    TRY(disk.truncate(to, 0));
    std::string piece(256 * 1024, '\0');
    for (std::uint64_t at = 0;;) {
        const std::size_t n = TRY(from.read(at, piece));
        if (n == 0) break;
        const std::string_view part(piece.data(), n);
        TRY(disk.write(to, at, {&part, 1}));
        at += n;
    }
    TRY(disk.sync(to));
    TRY(write_why(disk, name, why));
    return CopiedPart::whole;
}

Result<> store_report(spool::Disk& disk, spool::QueueId id, std::string_view message, std::string_view why) {
    const std::string name = "bad/" + id.text() + ".eml";
    const spool::File to = TRY(disk.open(name, spool::Open::upsert));
    TRY(disk.truncate(to, 0));
    TRY(disk.write(to, 0, {&message, 1}));
    TRY(disk.sync(to));
    return write_why(disk, name, why);
}

} // namespace bounce
