#include "daemons/bounce/bad.h"
#include <fmt/format.h>
#include <string>

namespace bounce {
namespace {

using spool::Result;

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
    const std::string line = fmt::format("{}\n", why);
    const std::string_view part = line;
    TRY(disk.write(reason, TRY(disk.size(reason)), {&part, 1}));
    TRY(disk.sync(reason));
    return disk.sync(TRY(disk.open("bad", spool::Open::directory)));
}

} // namespace

Result<> copy_to_bad(spool::Disk& disk, spool::QueueId id, spool::Location hint, std::string_view why) {
    const spool::File from = TRY(open_message(disk, id, hint));
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
    return write_why(disk, name, why);
}

Result<> keep_report(spool::Disk& disk, spool::QueueId id, std::string_view message, std::string_view why) {
    const std::string name = "bad/" + id.text() + ".eml";
    const spool::File to = TRY(disk.open(name, spool::Open::upsert));
    TRY(disk.truncate(to, 0));
    TRY(disk.write(to, 0, {&message, 1}));
    TRY(disk.sync(to));
    return write_why(disk, name, why);
}

} // namespace bounce
