// What is to be done with the journal's segments next: which one is sealed, indexed or removed. Pure: a function of
// what is there, the settings and the time.
#pragma once
#include "libspool/journal/segments/segment_list.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace events {

struct KeptSegment {
    spool::Segment segment;
    std::uint64_t bytes = 0; // of all its files
    std::int64_t newest = 0; // time of its last event, in seconds since 1970; 0: not known
};

// Events that are still to be pushed: from `next` on, as long as they are not older than `seconds`.
struct Need {
    std::uint64_t next = 0;
    std::int64_t seconds = 0;
};

struct KeepLimits {
    std::int64_t seconds = 0;     // 0: no limit
    std::uint64_t bytes = 0;      // 0: no limit
    std::vector<Need> needs = {}; // take precedence over the limits
};

enum class KeeperWork : std::uint8_t {
    remove,     // the whole segment
    seal,       // compress it
    drop_plain, // it is sealed already
    index,
    erase, // an address
};

struct KeeperStep {
    KeeperWork work = KeeperWork::index;
    std::uint64_t first = 0; // of the segment
    bool operator==(const KeeperStep&) const = default;
};

// In the order of their numbers. `published`: the highest number on stable storage. `not_indexable`: segments whose
// index could not be written. One step at a time: after a step of the clock, one segment is removed and not all.
std::optional<KeeperStep> next_step(const std::vector<KeptSegment>& segments, std::uint64_t published,
                                    const KeepLimits& limits, std::int64_t now,
                                    const std::vector<std::uint64_t>& not_indexable = {});

// The journal is near its size: for how many seconds of events that is enough at their present rate, if that is less
// than they are to be kept for.
std::optional<std::int64_t> time_that_fits(const std::vector<KeptSegment>& segments, const KeepLimits& limits,
                                           std::int64_t now);

} // namespace events
