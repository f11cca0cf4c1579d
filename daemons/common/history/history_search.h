// Looks for events in the journal's segments: newest first for a query, or all events of given messages in their order.
// What is indexed is looked up, the rest is read through. Blocking, for commands; not for an event loop.
#pragma once
#include "daemons/common/history/history_query.h"
#include "daemons/common/history/segment_index.h"
#include "libspool/journal/segments/segment_blocks.h"
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace history {

// What a search had to do, for a line under its result.
struct SearchEffort {
    std::uint64_t segments = 0;        // looked into
    std::uint64_t unindexed = 0;       // of them read through because they have no index, without the newest
    std::vector<spool::Damage> damage; // at most most_damage of them, each named once
    std::uint64_t further_damage = 0;
    static constexpr std::size_t most_damage = 20;
    void add(const spool::Damage& found);
};

class HistorySearch {
public:
    // Events up to number `through`. `directory` as the disk sees it, `path` as the process does. The disk must outlive
    // it.
    static spool::Result<HistorySearch> open(spool::Disk& disk, std::string directory, std::string path,
                                             std::uint64_t through);

    // Asked before each block; true: the search ends with an error of code ECANCELED.
    void cancel_if(std::function<bool()> cancelled) { cancelled_ = std::move(cancelled); }

    static constexpr std::uint64_t newest = std::numeric_limits<std::uint64_t>::max();
    // Matching events from number `from` downwards, the newest first, until `visit` returns false.
    spool::Result<> newest_first(const HistoryQuery& query, const std::function<bool(nlohmann::json)>& visit,
                                 std::uint64_t from = newest);
    // The same, so that it can be interrupted between two blocks: true: it has ended, false: `pause` said so, and the
    // walk continues with the next call. Each call reads at least one block.
    struct Walk {
        std::uint64_t from = newest;
        std::optional<std::uint64_t> segment = {}; // by its first event; it continues there,
        std::uint64_t block = 0;                   // with this one
    };
    spool::Result<bool> go_on(Walk& walk, const HistoryQuery& query, const std::function<bool(nlohmann::json)>& visit,
                              const std::function<bool()>& pause);
    // All events of these messages, the oldest first.
    spool::Result<> events_of(const std::set<std::string>& ids, const std::function<void(nlohmann::json)>& visit);
    const SearchEffort& effort() const { return effort_; }
    bool empty() const { return segments_.empty(); }

private:
    HistorySearch(spool::Disk& disk, std::string directory, std::string path, std::uint64_t through)
        : disk_(disk), directory_(std::move(directory)), path_(std::move(path)), through_(through) {}
    using KeyLists = std::vector<std::vector<IndexKey>>; // a match has one of each list
    using LineTest = std::function<bool(std::string_view line, std::string_view lower_case)>;
    // The lines of one block that pass the test and count, decoded, in their order.
    spool::Result<std::vector<nlohmann::json>> read_block(spool::SegmentBlocks& blocks, const spool::Segment& segment,
                                                          std::uint64_t block, const LineTest& may_match);
    // nullptr: the segment went away in the meantime.
    spool::Result<std::unique_ptr<spool::SegmentBlocks>> open_blocks(const spool::Segment& segment);

    // The blocks to be read, in their order: by the index, or all.
    spool::Result<std::vector<std::uint64_t>> blocks_to_read(const spool::Segment& segment,
                                                             spool::SegmentBlocks& blocks, const KeyLists& keys);

    spool::Disk& disk_;
    std::string directory_, path_;
    std::uint64_t through_;
    std::function<bool()> cancelled_; // may be empty
    std::optional<IndexHash> hash_;   // nothing: no segment was ever indexed here
    std::vector<spool::Segment> segments_;
    SearchEffort effort_;
    std::set<std::uint64_t> looked_into_; // segments: a second look counts nothing
    std::string lower_;
};

} // namespace history
