// Creates a compiled table: written beside the old one, synced, and renamed into
// place, so that readers find the complete old one or the complete new one.
#pragma once
#include "daemons/common/lookup/format/contents.h"
#include "libspool/disk/result.h"
#include <functional>
#include <string>

namespace tables {

struct Compiled {
    std::string path; // "FILE.lmdb"
    std::size_t entries = 0;
    Problems problems; // lines that were skipped
};

// What `postrider map FILE` does: a text table to FILE.lmdb.
spool::Result<Compiled> compile(const std::string& file);

// Receives the entries of a new compiled table.
class Writer {
public:
    enum class Put : std::uint8_t { added, there, too_long };
    virtual ~Writer() = default;
    // Keys are folded. `there`: there is such a key, and unless `replace` is set its value stays. too_long: such a key
    // cannot be kept.
    virtual spool::Result<Put> put(std::string_view key, std::string_view value, bool replace = false) = 0;
    virtual spool::Result<> erase(std::string_view key) = 0;
};
// Makes `path` of what `fill` puts, with the owner and mode of `like`. The number of entries.
spool::Result<std::size_t> write_compiled(const std::string& path, const std::string& like,
                                          const std::function<spool::Result<>(Writer&)>& fill);

} // namespace tables
