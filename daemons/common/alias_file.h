// Alias files in the format of aliases(5): text to a table, and a file kept up with. Lines "name: target,
// target", continued by lines that begin with a space, '#' for comments.
#pragma once
#include "daemons/common/alias_targets.h"
#include "daemons/common/watched_file.h"
#include "daemons/decide/expansion_tables.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace common {

struct AliasTable {
    std::unordered_map<std::string, std::vector<decide::AliasTarget>> entries; // names in lower case
    // Of lines that are passed over, and of entries whose mail waits because something in them is wrong.
    std::vector<AliasProblem> problems;

    static AliasTable parse(std::string_view text);
};

// A file of aliases, kept up with.
class AliasFile {
public:
    explicit AliasFile(std::string path) : file_(std::move(path)) {}

    // What the file says about `name` (lower case). A file that does not exist says nothing about anybody;
    // one that exists and cannot be read is unreadable, until it can be. Good until the next call of look().
    const std::vector<decide::AliasTarget>* find(const std::string& name) const;
    bool readable() const { return file_.trouble().empty() || file_.missing(); }
    std::string trouble() const { return readable() ? "" : path() + ": " + file_.trouble(); }
    const std::string& path() const { return file_.path(); }
    std::uint32_t owner() const { return file_.owner(); } // uid, of a file that was read

    enum class Change { none, read, gone, failed };
    // Looks whether the file has changed, if it is time to, and reads it.
    Change look(smtp::Now now);
    const AliasTable& table() const { return table_; }

private:
    WatchedFile file_;
    AliasTable table_;
};

} // namespace common
