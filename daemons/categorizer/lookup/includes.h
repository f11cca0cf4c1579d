// Files that alias files include, read as the service: owner and mode are checked, changes noticed. Those that users'
// own files include are read by `local` (user_files.h).
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/decide/rewriting/expansion_tables.h"
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <map>
#include <string>

namespace categorizer {

class IncludeFiles {
public:
    explicit IncludeFiles(common::Log& log) : log_(log) {}

    // Unreadable: it cannot be opened, is not a plain file, is too large, or others may write to it.
    decide::AliasAnswer find(const std::string& path, smtp::Now now);
    void forget() { cache_.clear(); }

private:
    struct Stamp {
        std::uint64_t device = 0, inode = 0, size = 0;
        std::int64_t changed = 0, modified = 0; // ns
        bool operator==(const Stamp&) const = default;
    };
    struct CacheEntry {
        Stamp stamp;
        decide::AliasAnswer answer;
    };
    decide::AliasAnswer refused(const std::string& path, std::string_view why);

    common::Log& log_;
    std::map<std::string, CacheEntry> cache_;
    std::map<std::string, smtp::Monotonic> last_warnings_; // refusals
    smtp::Monotonic now_{};
};

} // namespace categorizer
