// Alias files in the format of aliases(5): text to a table, and a file that is read again when it
// changes. Lines "name: target, target", continued by lines that begin with a space, '#' for comments.
#pragma once
#include "daemons/common/lookup/aliases/alias_targets.h"
#include "daemons/common/runtime/watched_file.h"
#include "daemons/decide/addressing/expansion_tables.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace common {

struct AliasTable {
    std::unordered_map<std::string, std::vector<decide::AliasTarget>> entries; // names in lower case
    // Of lines that are skipped, and of entries whose mail waits because something in them is wrong.
    std::vector<AliasProblem> problems;

    static AliasTable parse(std::string_view text);
};

// A file of aliases, kept up with.
class AliasFile {
public:
    enum class IfMissing : std::uint8_t {
        unreadable, // somebody wrote it or named it: who was in it is not unknown for that
        empty,      // it says nothing about anybody; once it has been there, as above
    };
    explicit AliasFile(std::string path, IfMissing if_missing = IfMissing::unreadable)
        : file_(std::move(path)), if_missing_(if_missing) {}

    // What the file says about `name` (lower case); nothing of this while it is unreadable. Good until the next call of
    // check().
    const std::vector<decide::AliasTarget>* find(const std::string& name) const;
    bool readable() const { return file_.problem().empty() || (file_.missing() && if_missing_ == IfMissing::empty); }
    std::string problem() const { return readable() ? "" : path() + ": " + file_.problem(); }
    bool missing() const { return file_.missing(); }
    IfMissing if_missing() const { return if_missing_; } // now
    const std::string& path() const { return file_.path(); }
    std::uint32_t owner() const { return file_.owner(); } // uid, of a file that was read

    enum class Change : std::uint8_t { none, read, absent, failed };
    // Looks whether the file has changed, if it is time to, and reads it.
    Change check(smtp::Now now);
    const AliasTable& table() const { return table_; }

private:
    WatchedFile file_;
    IfMissing if_missing_;
    AliasTable table_;
};

} // namespace common
