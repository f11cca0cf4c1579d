#include "libspool/store/writer_alive.h"
#include "libspool/format/layout.h"
#include "libspool/store/queue_id_source.h"

namespace spool {

Result<bool> writer_alive(Disk& disk, std::uint8_t slot) {
    const auto directory = directory_of(QueueId{slot | std::uint64_t{1} << 8}, Location::incoming);
    const auto mark = disk.open(directory + "/" + writer_mark_name, Open::read);
    if (!mark && mark.error().code == ENOENT) return false;
    if (!mark) return std::unexpected(mark.error());
    return TRY(disk.lock(*mark, Lock::shared)) == Locked::held_by_another;
}

} // namespace spool
