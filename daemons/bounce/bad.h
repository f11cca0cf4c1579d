// bad/: where mail ends whose sender can neither get it delivered nor be told. Blocking; for a pool's thread.
#pragma once
#include "libspool/disk.h"
#include "libspool/layout.h"
#include "libspool/queue_id.h"
#include <string_view>

namespace bounce {

// A copy of the message's file as bad/<id>, and a line of `why` in bad/<id>.why, both on stable storage. The
// message itself stays: the queue-manager removes it when it has recorded this. Doing it again is harmless.
spool::Result<> copy_to_bad(spool::Disk& disk, spool::QueueId id, spool::Location hint, std::string_view why);

// A report that nobody is to be sent: the message as bad/<id>.eml, why in bad/<id>.eml.why, on stable storage.
spool::Result<> keep_report(spool::Disk& disk, spool::QueueId id, std::string_view message, std::string_view why);

} // namespace bounce
