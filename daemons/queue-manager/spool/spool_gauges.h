// The gauges of the spool's disk and of what was set aside there. Knows metrics and places; must not know
// queues.
#pragma once
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/queue-manager/spool/quarantine_cleaner.h"
#include "libspool/disk/real_disk.h"
#include <array>
#include <cstdint>

namespace queue_manager {

class SpoolGauges {
public:
    void take(spool::RealDisk& disk, const QuarantineCleaner& cleaner, common::Metrics& metrics);

private:
    std::array<std::uint64_t, 5> counted_{}; // removals of each of the cleaner's places
};

} // namespace queue_manager
