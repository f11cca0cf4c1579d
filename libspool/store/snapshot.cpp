#include "libspool/store/snapshot.h"
#include "libspool/format/fields.h"
#include "libspool/format/record.h"
#include <algorithm>

namespace spool {

namespace {

// Records as in a message file, with one made-up id; each holds some thousand messages.
// The last one contains the number of messages, so that a truncated file is recognised.
constexpr QueueId snapshot_id{1};
constexpr std::uint16_t head_type = 2, messages_type = 3, end_type = 4;
constexpr std::size_t messages_per_record = 4096;
constexpr char path[] = "index/snapshot";
constexpr char new_path[] = "index/snapshot.new";

struct Head {
    std::uint32_t version = 1;
    smtp::WallTime taken{};
    std::string state;
    static void fields(auto& m, auto& f) {
        f(1, m.version);
        f(2, m.taken);
        f(3, m.state);
    }
};
struct Messages {
    std::vector<SnapshotMessage> messages;
    static void fields(auto& m, auto& f) { f(1, m.messages); }
};
struct End {
    std::uint64_t count = 0;
    static void fields(auto& m, auto& f) { f(1, m.count); }
};

Result<> sync_directory(Disk& disk, const char* directory) {
    File file = TRY(disk.open(directory, Open::directory));
    return disk.sync(file);
}

} // namespace

Result<> write_snapshot(Disk& disk, const Snapshot& snapshot) {
    File file = TRY(disk.open(new_path, Open::upsert));
    TRY(disk.truncate(file, 0));
    std::uint64_t offset = 0;
    std::uint32_t sequence = 1;
    const auto put = [&](std::uint16_t type, const auto& value) -> Result<> {
        std::string bytes;
        append_record(bytes, snapshot_id, Record{type, sequence++, true, 0, fields::Writer::bytes_of(value)});
        const std::string_view part = bytes;
        TRY(disk.write(file, offset, {&part, 1}));
        offset += bytes.size();
        return {};
    };
    TRY(put(head_type, Head{1, snapshot.taken, snapshot.state}));
    for (std::size_t at = 0; at < snapshot.messages.size(); at += messages_per_record) {
        const auto end = std::min(at + messages_per_record, snapshot.messages.size());
        Messages some;
        some.messages.assign(snapshot.messages.begin() + static_cast<std::ptrdiff_t>(at),
                             snapshot.messages.begin() + static_cast<std::ptrdiff_t>(end));
        TRY(put(messages_type, some));
    }
    TRY(put(end_type, End{snapshot.messages.size()}));
    TRY(disk.sync(file));
    TRY(disk.rename(new_path, path));
    return sync_directory(disk, "index");
}

Result<std::optional<Snapshot>> take_snapshot(Disk& disk) {
    auto file = disk.open(path, Open::read);
    if (!file && file.error().code == ENOENT) return std::nullopt;
    if (!file) return std::unexpected(std::move(file).error());
    std::string bytes(static_cast<std::size_t>(TRY(disk.size(*file))), '\0');
    bytes.resize(TRY(disk.read(*file, 0, bytes)));
    file->close();
    // It describes this instant only: gone, durably, before anything changes.
    TRY(disk.unlink(path));
    TRY(sync_directory(disk, "index"));

    const auto log = parse_log(bytes, snapshot_id, 1);
    if (log.torn_tail || log.lost != 0 || log.records.size() < 2) return std::nullopt;
    const auto head = fields::read<Head>(log.records.front().payload, "snapshot");
    const auto end = fields::read<End>(log.records.back().payload, "snapshot");
    if (log.records.front().type != head_type || log.records.back().type != end_type || !head || !end ||
        head->version != 1)
        return std::nullopt;
    Snapshot snapshot{head->taken, {}, head->state};
    for (std::size_t n = 1; n + 1 < log.records.size(); ++n) {
        auto some = fields::read<Messages>(log.records[n].payload, "snapshot");
        if (log.records[n].type != messages_type || !some) return std::nullopt;
        std::ranges::move(some->messages, std::back_inserter(snapshot.messages));
    }
    if (snapshot.messages.size() != end->count) return std::nullopt;
    return snapshot;
}

} // namespace spool
