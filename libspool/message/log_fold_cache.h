// The contents of a message's file when it was last read: envelope and property log folded into one state, and where
// the log ended. A later reader folds only what was appended since, so a message that is sent in very many deliveries
// is folded once, not once for each. Knows the log; neither the content nor the users of this cache.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/format/record.h"
#include "libspool/message/message_state.h"
#include "libspool/message/read_error.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace spool {

// A message's file, partly read.
struct MessageFile {
    Disk& disk;
    const File& file;
    const FileHeader& header;
    std::string_view head;  // its first bytes, header and log marks at least
    std::uint64_t size = 0; // of all of it; at least header.log_offset()

    // `length` bytes from `offset`, or as many as there are: from the head if it has them, else read into `space`.
    ReadResult<std::string_view> bytes(std::uint64_t offset, std::uint64_t length, std::string& space) const;
};

class FoldedLog {
public:
    // Envelope and log, all of it.
    static ReadResult<FoldedLog> read(const MessageFile& file);
    // Updates it to the current state of the same message's file. A log that has been restarted, or is irregular in any
    // way, is read from its beginning. On errors it is unchanged.
    ReadResult<> catch_up(const MessageFile& file);

    MessageState state;
    // The log: where it begins, where the next record goes, and its sequence number; how many records at its end may
    // not be on stable storage; how often it was restarted; whether unreadable bytes follow its end.
    std::uint64_t log_begin = 0, log_end = 0;
    std::uint32_t next_sequence = 1, unsynced_records = 0, log_generation = 0;
    bool torn_tail = false;

private:
    ReadResult<> fold(const Log& log);
};

} // namespace spool
