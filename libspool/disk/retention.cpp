#include "libspool/disk/retention.h"
#include <algorithm>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unordered_map>
#include <vector>

namespace spool {

namespace {

constexpr std::string_view reason = ".why";

struct Thing {
    std::string name;
    std::uint64_t bytes = 0;
    std::chrono::system_clock::time_point changed = {};
    bool with_reason = false, itself = false;
};

struct Facts {
    bool directory = false;
    std::uint64_t bytes = 0;                            // of the disk
    std::chrono::system_clock::time_point changed = {}; // it was given this name, or was written to, whichever was last
};

Result<Facts> facts_of(const RealDisk& disk, const std::string& path) {
    struct stat st;
    if (::fstatat(disk.directory(), path.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0)
        return std::unexpected(Error::from_errno("examine " + path));
    return Facts{S_ISDIR(st.st_mode), static_cast<std::uint64_t>(st.st_blocks) * 512,
                 std::chrono::system_clock::from_time_t(st.st_ctime)};
}

Result<std::vector<Thing>> things_in(RealDisk& disk, const std::string& directory) {
    auto names = disk.list(directory);
    if (!names && names.error().code == ENOENT) return std::vector<Thing>();
    if (!names) return std::unexpected(names.error());
    std::unordered_map<std::string, Thing> things;
    for (const auto& name : *names) {
        const auto facts = facts_of(disk, directory + "/" + name);
        if (!facts && facts.error().code == ENOENT) continue; // just gone
        if (!facts) return std::unexpected(facts.error());
        if (facts->directory) continue;
        const bool is_reason = name.ends_with(reason);
        auto& thing = things[is_reason ? name.substr(0, name.size() - reason.size()) : name];
        (is_reason ? thing.with_reason : thing.itself) = true;
        thing.bytes += facts->bytes;
        thing.changed = std::max(thing.changed, facts->changed);
    }
    std::vector<Thing> out;
    out.reserve(things.size());
    for (auto& [name, thing] : things) {
        thing.name = name;
        out.push_back(std::move(thing));
    }
    return out;
}

// The reason last: what is left of a removal that was cut off is never a file without one.
Result<> remove(Disk& disk, const std::string& directory, const Thing& thing) {
    const auto path = directory + "/" + thing.name;
    if (thing.itself)
        if (auto gone = disk.unlink(path); !gone && gone.error().code != ENOENT) return gone;
    if (thing.with_reason)
        if (auto gone = disk.unlink(path + std::string(reason)); !gone && gone.error().code != ENOENT) return gone;
    return {};
}

} // namespace

Result<RetentionResult> enforce_retention(RealDisk& disk, const std::string& directory, const RetentionLimits& limits,
                                          std::chrono::system_clock::time_point now) {
    auto things = TRY(things_in(disk, directory));
    RetentionResult kept;
    kept.files = things.size();
    for (const auto& thing : things) kept.bytes += thing.bytes;
    std::ranges::sort(things, {},
                      [](const Thing& thing) { return std::pair(thing.changed, std::string_view(thing.name)); });
    for (const auto& thing : things) {
        const bool too_old = limits.age.count() != 0 && now - thing.changed > limits.age;
        const bool too_much = limits.bytes != 0 && kept.bytes > limits.bytes;
        if (!too_old && !too_much) break;
        if (limits.at_once != 0 && kept.removed == limits.at_once) {
            kept.more = true;
            break;
        }
        if (auto gone = remove(disk, directory, thing); !gone) {
            kept.error = gone.error();
            continue;
        }
        --kept.files, ++kept.removed;
        kept.bytes -= thing.bytes, kept.removed_bytes += thing.bytes;
    }
    return kept;
}

} // namespace spool
