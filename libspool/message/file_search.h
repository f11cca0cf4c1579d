// Where a message's file is: the places where it can be, in the order in which it is looked for, opened one after the
// other. Knows names and the header's id; must not know what else is in a file.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/format/layout.h"
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <optional>

namespace spool {

struct FoundFile {
    File file;
    FileHint at; // where it was
};

// The reused file that holds the message, by looking into all of its writer's; own_file: none does. Error: it cannot be
// told.
Result<QueueId> find_in_reused(Disk& disk, QueueId id);

class FileSearch {
public:
    // `disk` must outlive it.
    FileSearch(Disk& disk, QueueId id, FileHint hint) : disk_(disk), id_(id), hint_(hint) {}

    // The next file that may be the message's, open for reading; nothing: there are no more. A file of the message's
    // own name is the message's. A reused file may hold another one by now, or none: the caller compares the id after
    // it has locked the file. Error: it cannot be told whether there is one.
    Result<std::optional<FoundFile>> next();

private:
    enum class Step : std::uint8_t {
        hinted_file,
        hinted_place,
        other_place,
        reused_files,
        incoming_again,
        messages_again,
        end
    };
    Result<std::optional<FoundFile>> own(Location location);
    Result<std::optional<FoundFile>> in_reused(QueueId file);

    Disk& disk_;
    QueueId id_;
    FileHint hint_;
    Step step_ = Step::hinted_file;
};

} // namespace spool
