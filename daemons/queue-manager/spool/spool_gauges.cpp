#include "daemons/queue-manager/spool/spool_gauges.h"
#include <cstddef>

namespace queue_manager {

void SpoolGauges::take(spool::RealDisk& disk, const QuarantineCleaner& cleaner, common::Metrics& metrics) {
    using common::MetricId;
    if (const auto space = disk.space()) {
        metrics.set(MetricId::spool_free_bytes, static_cast<std::int64_t>(space->bytes_free));
        metrics.set(MetricId::spool_size_bytes, static_cast<std::int64_t>(space->bytes_total));
        metrics.set(MetricId::spool_free_inodes, static_cast<std::int64_t>(space->files_free));
    }
    for (std::size_t n = 0; n < cleaner.places().size(); ++n) {
        const auto& kept = cleaner.places()[n].kept;
        const auto place = static_cast<common::SetAsideDirectory>(n);
        metrics.set(MetricId::put_aside_bytes, static_cast<std::int64_t>(kept.bytes), place);
        metrics.add(MetricId::put_aside_removed, kept.removed - counted_[n], place);
        counted_[n] = kept.removed;
    }
}

} // namespace queue_manager
