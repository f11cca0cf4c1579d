// bad/: keeps mail that can neither be delivered nor be reported to its sender. Blocking; for a pool's thread.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/disk/reserve.h"
#include "libspool/format/layout.h"
#include "libspool/format/queue_id.h"
#include <string_view>

namespace bounce {

// How much of a message is kept: strangers can cause mail to end here.
struct StoreLimits {
    std::uint64_t message = UINT64_MAX; // of a larger one the header only
    spool::Floor floor = {0, 0};        // of one that the disk has no room for above this, too
};
enum class CopiedPart : std::uint8_t { whole, header };

// A copy of the message's file as bad/<id>, or its header as text as bad/<id>.header, and a line of `why` in
// <that>.why, both on stable storage. The message itself stays: the queue-manager removes it when it has recorded
// this. Doing it again is harmless.
spool::Result<CopiedPart> copy_to_bad(spool::Disk& disk, spool::QueueId id, spool::FileHint hint, std::string_view why,
                                      const StoreLimits& limits = {});

// A report that cannot be sent: the message as bad/<id>.eml, why in bad/<id>.eml.why, on stable storage.
spool::Result<> store_report(spool::Disk& disk, spool::QueueId id, std::string_view message, std::string_view why);

} // namespace bounce
