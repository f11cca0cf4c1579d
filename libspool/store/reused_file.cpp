#include "libspool/store/reused_file.h"
#include "libspool/format/record.h"
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

namespace spool {

namespace {

struct HeaderSeen {
    std::optional<FileHeader> header; // nothing: it is not whole
    std::uint32_t checksum = 0;
    bool unsealed = false;
    bool kept = false; // a message has the file for itself, with a log in it
    bool is_of(QueueId id) const { return header && header->id == id; }
};

Result<HeaderSeen> head_of(Disk& disk, const File& file) {
    std::array<char, header_size> space;
    const std::string_view bytes(space.data(), TRY(disk.read(file, 0, space)));
    const auto header = decode_header(bytes);
    if (!header) return HeaderSeen{.header = {}, .unsealed = header.error().first == HeaderFault::unsealed};
    return HeaderSeen{
        .header = *header, .checksum = checksum_of_header(bytes), .kept = is_kept_file(bytes, header->id)};
}

} // namespace

Result<> make_own(Disk& disk, QueueId id, ReusedFile& reused, Location to) {
    if (!reused.name.valid()) return {};
    const auto path = path_of_reused(reused.name);
    {
        const auto file = disk.open(path, Open::read_write);
        if (!file && file.error().code == ENOENT) {
            reused.now = ReusedFile::Now::left;
            return {};
        }
        if (!file) return std::unexpected(file.error());
        const auto head = TRY(head_of(disk, *file));
        if (!head.is_of(id))
            return std::unexpected(Error{EBADMSG, path + ": does not hold " + id.text() + " any longer"});
        if (!head.kept) { // else a power cut has undone the rename, and what was recorded since is in the file
            TRY(disk.truncate(*file, head.header->log_offset()));
            TRY(disk.write(*file, kept_file_mark_offset, {&kept_file_mark, 1}));
        }
    }
    TRY(disk.rename(path, path_of(id, to)));
    reused.now = ReusedFile::Now::left;
    return {};
}

static Result<> keep_damaged(Disk& disk, QueueId id, ReusedFile& reused) {
    const auto path = path_of_reused(reused.name);
    {
        const File file = TRY(disk.open(path, Open::read));
        const auto head = head_of(disk, file); // what cannot be read is kept, too
        if (head && head->header && !head->is_of(id))
            return std::unexpected(Error{EBADMSG, path + ": holds " + head->header->id.text() + ", not " + id.text()});
    }
    TRY(disk.rename(path, path_of(id, Location::incoming)));
    reused.now = ReusedFile::Now::left;
    return {};
}

Result<> make_own_even_if_damaged(Disk& disk, QueueId id, ReusedFile& reused) {
    if (!reused.name.valid() || make_own(disk, id, reused, Location::incoming)) return {};
    return keep_damaged(disk, id, reused);
}

Result<bool> remove_from(Disk& disk, QueueId id, ReusedFile& reused, FinishedMessages* finished) {
    const auto path = path_of_reused(reused.name);
    if (!reused.handle) {
        auto file = disk.open(path, Open::read_write);
        if (!file && file.error().code == ENOENT) {
            reused.now = ReusedFile::Now::left;
            return false;
        }
        if (!file) return std::unexpected(file.error());
        reused.handle = std::make_shared<File>(std::move(*file));
    }
    // A reader holds the shared lock. Then the file is not overwritten but unlinked, and stays what it is for the
    // reader.
    const bool alone = TRY(disk.lock(*reused.handle, Lock::exclusive)) == Locked::yes;
    const auto head = TRY(head_of(disk, *reused.handle));
    if (!head.is_of(id)) { // whatever is there is not ours to remove
        reused.handle.reset();
        reused.now = ReusedFile::Now::left;
        return false;
    }
    if (finished) finished->add({id, head.checksum});
    if (alone && reused.returnable) {
        const auto nothing = wiped_header();
        const std::string_view part = nothing;
        TRY(disk.write(*reused.handle, 0, {&part, 1}));
        TRY(disk.unlock(*reused.handle));
        reused.now = ReusedFile::Now::free;
        return true;
    }
    TRY(disk.unlink(path));
    reused.handle.reset();
    reused.now = ReusedFile::Now::left;
    return true;
}

Result<> remove_own(Disk& disk, const std::string& path, QueueId id, FinishedMessages* finished) {
    if (finished)
        if (const auto file = disk.open(path, Open::read)) {
            if (const auto head = head_of(disk, *file); head && head->is_of(id)) finished->add({id, head->checksum});
        }
    return disk.unlink(path);
}

bool is_free(Disk& disk, QueueId file) {
    const auto opened = disk.open(path_of_reused(file), Open::read);
    if (!opened) return false;
    const auto head = head_of(disk, *opened);
    return head && head->unsealed;
}

} // namespace spool
