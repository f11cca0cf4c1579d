// Whether a slot of incoming/ is taken by a process that lives.
#pragma once
#include "libspool/disk/disk.h"
#include <cstdint>

namespace spool {

// A process holds that slot, so that QueueIdSource::open would not get it. Does not wait.
Result<bool> writer_alive(Disk& disk, std::uint8_t slot);

} // namespace spool
