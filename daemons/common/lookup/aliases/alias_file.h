// Alias files in the format of aliases(5): text to a table, and a file that is read again when it
// changes. Lines "name: target, target", continued by lines that begin with a space, '#' for comments.
#pragma once
#include "daemons/common/lookup/aliases/alias_targets.h"
#include "daemons/common/runtime/watched_file.h"
#include "daemons/decide/rewriting/expansion_tables.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace common {

struct AliasTable {
    std::unordered_map<std::string, std::vector<decide::AliasTarget>> entries; // names in lower case
    // Of lines that are skipped, and of entries that contain an error, so that their mail waits.
    std::vector<AliasProblem> problems;

    static AliasTable parse(std::string_view text);
};

// An alias file that is read again when it changes.
class AliasFile {
public:
    enum class IfMissing : std::uint8_t {
        unreadable, // it was there, or is configured: its names must not become unknown
        empty,      // it counts as empty; once it has been there, as above
    };
    explicit AliasFile(std::string path, IfMissing if_missing = IfMissing::unreadable)
        : file_(std::move(path)), if_missing_(if_missing) {}

    // The file's targets for `name` (lower case); meaningful only while the file is readable. Valid until the next call
    // of check().
    const std::vector<decide::AliasTarget>* find(const std::string& name) const;
    bool readable() const { return file_.problem().empty() || (file_.missing() && if_missing_ == IfMissing::empty); }
    std::string problem() const { return readable() ? "" : path() + ": " + file_.problem(); }
    bool missing() const { return file_.missing(); }
    IfMissing if_missing() const { return if_missing_; } // now
    const std::string& path() const { return file_.path(); }
    std::uint32_t owner() const { return file_.owner(); } // uid, of a file that was read

    enum class Change : std::uint8_t { none, read, absent, failed };
    // Checks whether the file has changed, if it is time to, and reads it.
    Change check(smtp::Now now);
    const AliasTable& table() const { return table_; }

private:
    WatchedFile file_;
    IfMissing if_missing_;
    AliasTable table_;
};

} // namespace common
