// The segments of the journal: names of files in its directory, in the order of their numbers. Knows names and what
// they state, not what is in the files.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/journal/names.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spool {

inline constexpr std::string_view plain_suffix = journal::segment_suffix;
using journal::frames_suffix, journal::index_suffix, journal::sealed_suffix, journal::segment_file;

struct Segment {
    std::uint64_t first = 0; // number of its first event
    std::uint64_t end = 0;   // first number of the next segment, which takes precedence from there on; the last: the
                             // highest number that there can be
    bool plain = false, sealed = false,
         indexed = false; // which files there are: plain and sealed while one replaces the other

    std::string file() const { return segment_file(first, sealed ? sealed_suffix : plain_suffix); }
    bool operator==(const Segment&) const = default;
};

// By number. `directory` as the disk sees it: "." or "history". ENOENT: there is no journal.
Result<std::vector<Segment>> list_segments(Disk& disk, const std::string& directory);
// The same of a list of names; others are ignored.
std::vector<Segment> segments_of(const std::vector<std::string>& names);

// The highest number that is on stable storage, as the queue-manager publishes it in `synced`. Nothing: not published,
// or the file is no such file.
Result<std::optional<std::uint64_t>> published_number(Disk& disk, const std::string& directory);

} // namespace spool
