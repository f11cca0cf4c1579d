// Where a message's file is: the places where it can be, in the order in which it is looked for, opened one after the
// other. Knows names and the header's id; must not know what else is in a file.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/format/layout.h"
#include "libspool/format/queue_id.h"
#include <cstddef>
#include <optional>
#include <vector>

namespace spool {

struct FoundFile {
    File file;
    FileHint at; // where it was
};

class FileSearch {
public:
    // `disk` must outlive it.
    FileSearch(Disk& disk, QueueId id, FileHint hint) : disk_(disk), id_(id), hint_(hint) {}

    // The next file that may be the message's, open for reading; nothing: there are no more. A file of the message's
    // own name is the message's. A reused file may hold another one by now, or none: the caller compares the id after
    // it has locked the file. Error: it cannot be told whether there is one.
    Result<std::optional<FoundFile>> next();

private:
    enum class Step : std::uint8_t { hinted_file, hinted_place, other_place, list_files, files, messages_again, end };
    Result<std::optional<FoundFile>> own(Location location);
    Result<std::optional<FoundFile>> in_reused(QueueId file);
    Result<bool> names_it(const File& file) const;

    Disk& disk_;
    QueueId id_;
    FileHint hint_;
    Step step_ = Step::hinted_file;
    std::vector<QueueId> reused_; // still to be looked into
};

} // namespace spool
