// A small store of keys and values that several processes share and that outlives them: facts about
// mail that are not mail (idempotency keys, suppressed addresses). Entries may expire; a change may
// be conditional on the old value. Knows nothing of what is stored, nor of the implementation
// (lmdb.h; a server is possible later). Calls that wait for the disk say so: not for a loop's thread.
#pragma once
#include "libsmtp/text/time_types.h"
#include "libspool/disk/result.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace store {

inline constexpr std::size_t longest_key = 400;           // bytes, any; at least one
inline constexpr std::size_t longest_value = 64UL * 1024; // bytes, any

struct Entry {
    std::string value;
    smtp::WallTime expires{}; // from then on it counts as absent; {}: never
    bool operator==(const Entry&) const = default;
};

// One change of one key, made by one process at a time even if several try.
struct Change {
    enum class If : std::uint8_t { anything, absent, same }; // the condition for making it
    std::string key;
    std::optional<Entry> entry; // none: erase
    If only = If::anything;
    std::string same_as; // If::same: the value

    static Change put(std::string key, Entry entry) { return {std::move(key), std::move(entry), {}, {}}; }
    static Change put_if_absent(std::string key, Entry entry) {
        return {std::move(key), std::move(entry), If::absent, {}};
    }
    static Change replace(std::string key, std::string same_as, Entry entry) {
        return {std::move(key), std::move(entry), If::same, std::move(same_as)};
    }
    static Change erase(std::string key) { return {std::move(key), {}, {}, {}}; }
    static Change erase_if(std::string key, std::string same_as) {
        return {std::move(key), {}, If::same, std::move(same_as)};
    }
};

struct Outcome {
    bool made = false;
    std::optional<Entry> before; // the previous entry, made or not
};

// soon: a power failure may undo the last changes, in whole, never in part. now: they are on stable storage, and all
// before them.
enum class Durable : std::uint8_t { soon, now };

struct KeyedEntry {
    std::string key;
    Entry entry;
    bool operator==(const KeyedEntry&) const = default;
};

class Store {
public:
    virtual ~Store() = default;
    Store() = default;
    Store(const Store&) = delete;

    // The entry at that moment. Never waits for a writer, nor (for what is in memory) for the disk.
    virtual spool::Result<std::optional<Entry>> get(std::string_view key, smtp::WallTime now) = 0;
    // All of them or, on an error, none; in order, each seeing those before it. One outcome for each. Waits for other
    // writers and for the disk. Also removes some of the expired entries.
    virtual spool::Result<std::vector<Outcome>> apply(std::span<const Change> changes, smtp::WallTime now,
                                                      Durable durable) = 0;
    // Up to `most` entries whose keys begin with `prefix`, in the order of the keys' bytes, starting with the first one
    // after `after` ("": the first of all). Fewer than `most`: there are no more.
    virtual spool::Result<std::vector<KeyedEntry>> walk(std::string_view prefix, std::string_view after,
                                                        std::size_t most, smtp::WallTime now) = 0;

    // For a single change. True: made.
    spool::Result<bool> apply(Change change, smtp::WallTime now, Durable durable = Durable::now);
};

// The meaning of a store's Error beside its text.
inline bool is_damaged(const spool::Error& error) { return error.code == EUCLEAN; }

} // namespace store
