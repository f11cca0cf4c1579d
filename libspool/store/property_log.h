// Appends records to the property log of a message's file, and restarts the log when it has grown long. Knows the
// file's format; must not know what the records mean, or what else is done to the file.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/format/property.h"
#include "libspool/format/queue_id.h"
#include "libspool/message/read_error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spool {

enum class Sync : std::uint8_t { no, yes };

struct LogLimits {
    std::uint64_t log_limit = 64 * 1024; // a property log longer than this is restarted with a checkpoint
    std::uint64_t long_log = 16 * 1024;  // of a log longer than this, the end is remembered
};

// Where a message's log ended after an append. We are the only writer: as long as it ends there and was not restarted,
// it need not be read again for the next append. Kept only for long logs, which are worth it.
struct LogTail {
    std::uint64_t begin = 0, end = 0; // in the file
    std::uint32_t generation = 0, next_sequence = 1, unsynced = 0;
    std::uint64_t checkpoint = 0; // length of the one it begins with; 0: none
};

// `tail`: of the last append, if known; then of this one. On an error nothing of it is in the file, because the caller
// continues as if it had not happened. `finished`: it is in the file, which must not be written to any longer.
Result<> append_to(Disk& disk, const std::string& path, QueueId id, const std::vector<Property>& properties, Sync sync,
                   const LogLimits& options, std::optional<LogTail>& tail, bool& finished);

// A file whose write or sync failed is finished: the kernel has forgotten what it did not write, and the file is never
// synced again. A whole copy replaces it: durable before the rename, and until that is durable the old file is found.
Result<> put_copy_in_place(Disk& disk, const std::string& path, QueueId id);

Error as_error(const ReadError& error); // EBADMSG: damaged

} // namespace spool
