// What the queue-manager does to a reused file (layout.h): wipes it when its message is finished, so that its writer
// may overwrite it, or leaves it to a message that has to wait. Knows names and headers; must not know writers.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/format/layout.h"
#include "libspool/store/finished_messages.h"
#include <cstdint>
#include <memory>
#include <string>

namespace spool {

// The reused file that a message is in when an operation begins, and what the operation makes of it.
struct ReusedFile {
    QueueId name = own_file;
    bool returnable = false;           // to its writer
    std::shared_ptr<File> handle = {}; // for the next messages in it; opened when it is needed first
    enum class Now : std::uint8_t {
        occupied, // as before; also if there was none
        left,     // the message has left it with its file, or it has gone
        free,     // wiped
    } now = Now::occupied;
};

// The message keeps the file, under its own name and without what other messages have left behind it. Not synced: until
// a power cut it has one of two names, and both are read. EBADMSG: the message is not recognized in it.
Result<> make_own(Disk& disk, QueueId id, ReusedFile& reused, Location to);
// The same for a message that is to be set aside: if it is not recognized, the file gets its name as it is, unless it
// holds another message.
Result<> make_own_even_if_damaged(Disk& disk, QueueId id, ReusedFile& reused);
// Removes the message: wipes the file if it may be reused, else unlinks it. False: the message is not in there.
Result<bool> remove_from(Disk& disk, QueueId id, ReusedFile& reused, FinishedMessages* finished);
// Unlinks a message's own file.
Result<> remove_own(Disk& disk, const std::string& path, QueueId id, FinishedMessages* finished);
// Does this reused file hold no message? False also if that cannot be told.
bool is_free(Disk& disk, QueueId file);

} // namespace spool
