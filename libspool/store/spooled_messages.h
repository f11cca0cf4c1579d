// Which messages are in the spool at present, by the names of their files. Changes nothing, so it may be asked beside a
// working MTA; it does not tell whether a message is whole.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/format/layout.h"
#include "libspool/format/queue_id.h"
#include <vector>

namespace spool {

struct SpooledMessage {
    QueueId id;
    FileHint at;
};

// One that is moved meanwhile may be named twice, but is never missed. What a writer has not finished is among them.
Result<std::vector<SpooledMessage>> list_spooled_messages(Disk& disk);

} // namespace spool
