// Whether a running process holds a slot of incoming/.
#pragma once
#include "libspool/disk/disk.h"
#include <cstdint>

namespace spool {

// A process holds that slot, so that QueueIdSource::open would not get it. Does not wait.
Result<bool> writer_alive(Disk& disk, std::uint8_t slot);

} // namespace spool
