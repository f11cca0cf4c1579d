#include "daemons/bounce/undeliverable_store.h"
#include "libspool/message/message_reader.h"
#include <fmt/format.h>
#include <string>

namespace bounce {
namespace {

using spool::Result;

constexpr std::size_t longest_why = 64 * 1024, longest_header = 64 * 1024;

Result<spool::File> open_message(spool::Disk& disk, spool::QueueId id, spool::Location hint) {
    using spool::Location;
    auto file = disk.open(path_of(id, hint), spool::Open::read);
    if (file || file.error().code != ENOENT) return file;
    const auto other = hint == Location::incoming ? Location::messages : Location::incoming;
    return disk.open(path_of(id, other), spool::Open::read);
}

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

static Result<CopiedPart> keep_header(spool::Disk& disk, spool::QueueId id, spool::Location hint,
                                      std::string_view why) {
    auto reader = spool::MessageReader::open(disk, id, hint, spool::ReadLock::none);
    if (!reader) return std::unexpected(spool::Error{EIO, spool::text_of(reader.error())});
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

Result<CopiedPart> copy_to_bad(spool::Disk& disk, spool::QueueId id, spool::Location hint, std::string_view why,
                               const StoreLimits& limits) {
    const spool::File from = TRY(open_message(disk, id, hint));
    const auto size = TRY(disk.size(from));
    if (size > limits.message || TRY(spool::check_free_space(disk, limits.floor, size)) != spool::FreeSpace::enough)
        return keep_header(disk, id, hint, why);
    const std::string name = "bad/" + id.text();
    const spool::File to = TRY(disk.open(name, spool::Open::upsert));
    TRY(disk.truncate(to, 0));
    std::string piece(256 * 1024, '\0');
    for (std::uint64_t at = 0;;) {
        const std::size_t n = TRY(disk.read(from, at, piece));
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
