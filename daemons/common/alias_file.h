// Alias files in the format of aliases(5): text to a table, and a file kept up with. Lines "name: target,
// target", continued by lines that begin with a space, '#' for comments, quotes around what holds odd
// characters.
#pragma once
#include "daemons/decide/expansion_tables.h"
#include "libsmtp/time.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace common {

struct AliasProblem {
    std::uint32_t line = 0;
    std::string message;
    bool operator==(const AliasProblem&) const = default;
};

struct AliasTable {
    std::unordered_map<std::string, std::vector<decide::AliasTarget>> entries; // names in lower case
    std::vector<AliasProblem> problems; // lines passed over, at most 20

    static AliasTable parse(std::string_view text);
};

// What a .forward or an included file says: targets, separated by commas and ends of lines; '#' for comments.
struct TargetList {
    std::vector<decide::AliasTarget> targets;
    std::vector<AliasProblem> problems; // as above

    static TargetList parse(std::string_view text);
};

// What stands behind a name in a compiled alias table; empty if it makes no sense.
std::vector<decide::AliasTarget> parse_targets(std::string_view text);

// A file of aliases, read again when it has changed (looked at no more than once a second). Half-made changes
// are not believed: a file is read when it has rested for a second, and missed only when it stays away.
class AliasFile {
public:
    explicit AliasFile(std::string path) : path_(std::move(path)) {}

    // What the file says about `name` (lower case). A file that does not exist says nothing about anybody;
    // one that exists and cannot be read is unreadable, until it can be. Good until the next call of look().
    const std::vector<decide::AliasTarget>* find(const std::string& name) const;
    bool readable() const { return trouble_.empty(); }
    const std::string& trouble() const { return trouble_; }
    const std::string& path() const { return path_; }
    std::uint32_t owner() const { return owner_; } // uid, of a file that was read

    enum class Change { none, read, gone, failed };
    // Looks whether the file has changed, if it is time to, and reads it.
    Change look(smtp::Now now);
    const AliasTable& table() const { return table_; }

private:
    struct Stamp {
        std::uint64_t device = 0, inode = 0, size = 0;
        std::int64_t changed = 0, modified = 0; // ns
        bool operator==(const Stamp&) const = default;
    };
    std::string path_, trouble_;
    AliasTable table_;
    Stamp stamp_;
    std::uint32_t owner_ = 0;
    bool there_ = false, looked_ = false;
    smtp::Monotonic next_look_{}, away_since_{};
    bool away_ = false;
};

} // namespace common
