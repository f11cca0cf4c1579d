#include "daemons/queue-manager/control/drain_state.h"
#include "daemons/decide/queue/filter.h"
#include "libspool/disk/durable_file.h"
#include "libspool/format/record.h"
#include <cerrno>

namespace queue_manager {

namespace {

constexpr spool::QueueId drain_id{1}; // what seeds the record's checksum
constexpr std::uint16_t drain_type = 7;
constexpr char drain_path[] = "drain";

} // namespace

spool::Result<> save_drain(spool::Disk& disk, const std::optional<DrainState>& drain) {
    if (!drain) return spool::remove_durably(disk, drain_path);
    std::string bytes;
    const auto payload = spool::fields::Writer::bytes_of(*drain);
    spool::append_record(bytes, drain_id, spool::Record{drain_type, 1, true, 0, payload});
    return spool::replace_durably(disk, drain_path, bytes);
}

spool::Result<std::optional<DrainState>> load_drain(spool::Disk& disk) {
    auto file = disk.open(drain_path, spool::Open::read);
    if (!file && file.error().code == ENOENT) return std::optional<DrainState>();
    if (!file) return std::unexpected(std::move(file).error());
    std::string bytes(static_cast<std::size_t>(TRY(disk.size(*file))), '\0');
    bytes.resize(TRY(disk.read(*file, 0, bytes)));
    const auto record = spool::read_record(bytes, drain_id);
    const auto damaged = [] { return std::unexpected(spool::Error{EBADMSG, "the file drain is damaged"}); };
    if (!record || record->first.type != drain_type) return damaged();
    auto drain = spool::fields::read<DrainState>(record->first.payload, "drain");
    if (!drain || drain->targets.empty() || drain->filter.empty()) return damaged();
    if (!decide::queue::Filter::parse(drain->filter)) return damaged();
    return std::optional<DrainState>(std::move(*drain));
}

} // namespace queue_manager
