// What an earlier queue-manager left in the journal's directory: which number is next. Reads names, marks and the
// end of the newest segment; writes only the identity of the node. Nothing is ever cut off or removed.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/journal/numbers.h"
#include "libspool/journal/segment_end.h"
#include "libspool/journal/tail.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spool::journal {

struct Beginning {
    std::string node;
    std::uint64_t next = 1;       // number of the next line
    std::vector<Numbers> missing; // after an unclean stop: each must be named by a journal.gap
    Tail tail;                    // of the newest segments
};

class Directory {
public:
    // After an unclean stop: more than the lines that may have been written and lost (PendingLines::most_lines).
    static constexpr std::uint64_t skipped = 65'536;
    // Of the newest segments that are read: more than what may not have been synced when the machine stopped.
    static constexpr std::size_t end_size = 16 << 20;

    // `path`: relative to the disk, without a slash at its end. Both outlive it.
    Directory(Disk& disk, std::string path) : disk_(disk), path_(std::move(path)) {}

    const std::string& path() const { return path_; }
    std::string file(std::string_view name) const { return path_ + '/' + std::string(name); }

    // Makes the directory if it does not exist. `random`: 16 bytes, for a new node. Lines that were written and not
    // synced are synced now.
    Result<Beginning> look(std::string_view random);
    // Makes names in it durable. Once this has failed, it fails for ever.
    Result<> sync();

private:
    Result<std::string> node(std::string_view random);
    SegmentEnd end_of_all(std::vector<std::uint64_t> segments);
    std::optional<std::uint64_t> mark(std::string_view name, std::string_view magic);

    Disk& disk_;
    std::string path_;
    Result<> broken_; // a sync of the directory has failed: the kernel has forgotten why
};

} // namespace spool::journal
