#include "libspool/store/recovery.h"
#include "libspool/disk/not_a_file.h"
#include "libspool/disk/quarantine.h"
#include "libspool/message/message_reader.h"
#include "libspool/store/queue_id_source.h"
#include "libspool/store/reused_file.h"
#include <algorithm>
#include <limits>

namespace spool {

namespace {
constexpr std::string_view incoming = "incoming/";
constexpr auto nobodys = std::numeric_limits<std::uint64_t>::max();

ReadResult<MessageReader> read_whole(Disk& disk, const std::string& path, QueueId id, Location location) {
    auto reader = MessageReader::open_path(disk, path);
    if (reader && reader->queue_id() != id)
        return std::unexpected(ReadError{Damaged{Damaged::How::damaged, "header: is of " + reader->queue_id().text()}});
    if (!reader || location == Location::messages) return reader;
    // It may not have been acknowledged, so it may be incomplete: the power may have failed while it was written.
    for (std::uint64_t at = 0; at < reader->size();) {
        const auto piece = reader->piece(at);
        if (!piece) return std::unexpected(piece.error());
        at += piece->size();
    }
    return reader;
}
} // namespace

std::optional<Found> find_message(Disk& disk, QueueId id, Location location,
                                  const std::shared_ptr<const FinishedIndex>& finished) {
    auto reader = read_whole(disk, path_of(id, location), id, location);
    if (!reader || reader->held_by_another()) return {};
    if (finished && finished->contains(id, reader->header_checksum())) return {};
    return Found{.id = id,
                 .location = location,
                 .size = reader->size(),
                 .writer_alive = location == Location::incoming,
                 .state = std::move(*reader).state()};
}

RecoveryScan RecoveryScan::everything(Disk& disk, ScanOptions options) {
    RecoveryScan scan(disk, options);
    constexpr std::string_view digits = "0123456789abcdef";
    for (const char* root : {"messages/", "incoming/"}) // taken from the end
        for (int n = 255; n >= 0; --n)
            scan.directories_.push_back(std::string(root) + digits[static_cast<unsigned>(n) >> 4] +
                                        digits[static_cast<unsigned>(n) & 15]);
    return scan;
}

RecoveryScan RecoveryScan::writer(Disk& disk, std::uint8_t slot, ScanOptions options) {
    RecoveryScan scan(disk, options);
    scan.directories_.push_back(directory_of(QueueId{std::uint64_t{1} << 8 | slot}, Location::incoming));
    return scan;
}

RecoveryScan RecoveryScan::again(Disk& disk, const std::set<std::string>& directories, ScanOptions options) {
    RecoveryScan scan(disk, options);
    scan.directories_.assign(directories.begin(), directories.end());
    return scan;
}

std::optional<RecoveryScan> RecoveryScan::split_off() {
    if (directories_.empty()) return {};
    RecoveryScan part(disk_, options_);
    part.aside_ = aside_;
    part.directories_.push_back(std::move(directories_.back()));
    directories_.pop_back();
    return part;
}

ScanBatch RecoveryScan::step() {
    ScanBatch batch;
    for (std::size_t n = 0; n < options_.batch && !finished();) {
        if (names_.empty()) {
            open_directory(batch);
            continue;
        }
        const auto name = std::move(names_.back());
        names_.pop_back();
        examine(name, batch);
        ++n;
    }
    return batch;
}

void RecoveryScan::open_directory(ScanBatch& batch) {
    directory_ = std::move(directories_.back());
    directories_.pop_back();
    boundary_tick_ = nobodys;
    if (directory_.starts_with(incoming)) {
        // A process that holds the mark's lock is alive and may be writing any id from the mark's start on: files there
        // that are not whole are its own business, whole ones may have been taken over by a queue-manager that died. If
        // the lock is free, no id given out so far has an owner; a writer that starts meanwhile begins above.
        auto mark_file = disk_.open(directory_ + "/" + writer_mark_name, Open::read);
        if (mark_file) {
            const auto locked = disk_.lock(*mark_file, Lock::shared);
            const auto mark = read_writer_mark(disk_, *mark_file);
            if (!locked || !mark) {
                auto error = locked ? mark.error() : locked.error();
                error.what = directory_ + ": " + error.what;
                unreadable(std::move(error), batch);
                if (!locked) return;
            }
            const bool alive = *locked == Locked::held_by_another;
            if (alive && !(mark && *mark)) return; // just starting: everything there is left for the next scan
            if (mark && *mark) boundary_tick_ = alive ? (*mark)->start : (*mark)->ceiling;
        } else if (mark_file.error().code != ENOENT) {
            unreadable(mark_file.error(), batch);
        }
    }
    auto names = disk_.list(directory_);
    if (!names) {
        if (names.error().code != ENOENT) unreadable(names.error(), batch);
        return;
    }
    names_ = std::move(*names);
    std::ranges::sort(names_, std::greater<>()); // oldest first, taken from the end
}

void RecoveryScan::examine(const std::string& name, ScanBatch& batch) {
    const auto path = directory_ + "/" + name;
    const bool in_incoming = directory_.starts_with(incoming);
    if (in_incoming && (name == writer_mark_name || name == new_writer_mark_name)) return;
    if (const auto file = reused_file_named(name); file && in_incoming) return examine_reused(path, *file, batch);
    const auto id = QueueId::parse(name);
    if (!id || id->text() != name) {
        batch.errors.push_back(Error{0, path + ": not a message file's name"});
        return;
    }
    const auto location = in_incoming ? Location::incoming : Location::messages;
    const auto belongs = path_of(*id, location);
    if (path == belongs && options_.known && options_.known->contains(*id)) return;
    const bool being_written = in_incoming && id->tick() >= boundary_tick_;
    auto reader = read_whole(disk_, path, *id, location);
    if (!reader) {
        if (const auto* error = std::get_if<Error>(&reader.error())) {
            if (is_not_a_file(*error)) // stays so, and we may not move it
                batch.errors.push_back(Error{0, path + ": not a regular file"});
            else if (error->code != ENOENT) // that: gone meanwhile, delivered
                unreadable(*error, batch);
            return;
        }
        const auto& damaged = std::get<Damaged>(reader.error());
        const bool forged = damaged.how == Damaged::How::forged; // and as whole as it will ever be
        if (being_written && !forged) return;
        if (damaged.how == Damaged::How::newer) {
            batch.errors.push_back(Error{0, path + ": " + damaged.what});
            return;
        }
        // An interrupted writer leaves a torn file; in messages/ everything was promised.
        const bool incomplete = in_incoming && !forged;
        return quarantine(path, name, incomplete, damaged.what, batch);
    }
    if (was_finished(path, *reader, batch)) return;
    Found found{.id = *id,
                .location = location,
                .size = reader->size(),
                .in_flight = reader->held_by_another(),
                .writer_alive = being_written,
                .state = std::move(*reader).state()};
    if (path != belongs) { // it was moved by hand
        found.location = Location::messages;
        if (auto moved = disk_.rename(path, path_of(*id, found.location)); !moved) {
            unreadable(moved.error(), batch);
            return;
        }
    }
    batch.found.push_back(std::move(found));
}

// The writer that made the file may be alive: then it is free, or a message is being written into it, unless there is a
// whole one.
void RecoveryScan::examine_reused(const std::string& path, QueueId file, ScanBatch& batch) {
    const bool in_use = file.tick() >= boundary_tick_;
    auto reader = MessageReader::open_path(disk_, path); // verifies all of it
    if (reader && reader->queue_id().slot() != file.slot())
        reader =
            std::unexpected(ReadError{Damaged{Damaged::How::forged, "header: is of " + reader->queue_id().text()}});
    if (reader) {
        if (was_finished(path, *reader, batch)) return;
        batch.found.push_back({.id = reader->queue_id(),
                               .location = Location::incoming,
                               .reused_file = file,
                               .size = reader->size(),
                               .in_flight = reader->held_by_another(),
                               .writer_alive = in_use,
                               .state = std::move(*reader).state()});
        return;
    }
    if (const auto* error = std::get_if<Error>(&reader.error())) {
        if (error->code != ENOENT) unreadable(*error, batch);
        return;
    }
    const auto& damaged = std::get<Damaged>(reader.error());
    const bool forged = damaged.how == Damaged::How::forged;
    if (in_use && !forged) return;
    if (damaged.how == Damaged::How::newer) {
        batch.errors.push_back(Error{0, path + ": " + damaged.what});
        return;
    }
    if (damaged.how == Damaged::How::unsealed && is_free(disk_, file)) {
        if (auto gone = disk_.unlink(path); !gone && gone.error().code != ENOENT) unreadable(gone.error(), batch);
        return;
    }
    // A message in it was either whole and synced, or overwritten because it was finished; and the new one is not
    // whole.
    quarantine(path, file.text(), !forged, damaged.what, batch);
}

bool RecoveryScan::was_finished(const std::string& path, const MessageReader& message, ScanBatch& batch) {
    if (!options_.finished || !options_.finished->contains(message.queue_id(), message.header_checksum())) return false;
    if (auto gone = disk_.unlink(path); !gone && gone.error().code != ENOENT)
        unreadable(gone.error(), batch); // and it is not delivered
    batch.finished_before.push_back(message.queue_id());
    return true;
}

void RecoveryScan::unreadable(Error error, ScanBatch& batch) {
    if (error.code != 0) batch.unread_directories.insert(directory_);
    batch.errors.push_back(std::move(error));
}

void RecoveryScan::quarantine(const std::string& path, const std::string& name, bool incomplete, std::string why,
                              ScanBatch& batch) {
    const std::lock_guard lock(*aside_);
    auto to = spool::quarantine_file(disk_, path, incomplete ? "quarantine/incomplete" : "quarantine", name, why);
    if (!to) return unreadable(to.error(), batch);
    batch.quarantined.push_back({path, std::move(*to), incomplete, std::move(why)});
}

} // namespace spool
