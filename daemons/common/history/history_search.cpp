#include "daemons/common/history/history_search.h"
#include "daemons/common/history/line_filter.h"
#include "daemons/common/history/message_history.h"
#include "libsmtp/text/date.h"
#include "libspool/journal/journal_line.h"
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ranges>
#include <utility>

namespace history {

using nlohmann::json;

namespace {

// The ids in a line, at any place in it: what is found is decoded afterwards.
bool names_one_of(const std::set<std::string>& ids, std::string_view line) {
    constexpr std::string_view key = R"("id":")";
    for (auto at = line.find(key); at != line.npos; at = line.find(key, at + 1)) {
        const auto begin = at + key.size(), end = line.find('"', begin);
        if (end == line.npos) return false;
        if (ids.contains(std::string(line.substr(begin, end - begin)))) return true;
    }
    return false;
}

// Nothing in a segment of these times is as old, or as new, as the query wants. An hour's difference may be a step of
// the clock.
bool is_outside(const std::optional<spool::SegmentBlocks::Times>& times, const HistoryQuery& query) {
    constexpr auto margin = std::chrono::hours(1);
    if (!times) return false;
    const auto text = [](std::int64_t seconds) {
        return smtp::rfc3339_date(smtp::WallTime(std::chrono::seconds(seconds)));
    };
    const auto span = std::chrono::seconds(margin).count();
    return (!query.since().empty() && text(times->newest + span) < query.since()) ||
           (!query.until().empty() && text(times->oldest - span) > query.until());
}

} // namespace

void SearchEffort::add(const spool::Damage& found) {
    const auto known = std::ranges::any_of(
        damage, [&](const spool::Damage& each) { return each.file == found.file && each.offset == found.offset; });
    if (known) return;
    if (damage.size() < most_damage)
        damage.push_back(found);
    else
        ++further_damage;
}

spool::Result<HistorySearch> HistorySearch::open(spool::Disk& disk, std::string directory, std::string path,
                                                 std::uint64_t through) {
    HistorySearch search(disk, std::move(directory), std::move(path), through);
    search.segments_ = TRY(spool::list_segments(disk, search.directory_));
    if (const auto secret = TRY(read_index_secret(disk, search.directory_))) search.hash_.emplace(*secret);
    return search;
}

spool::Result<std::vector<std::uint64_t>>
HistorySearch::blocks_to_read(const spool::Segment& segment, spool::SegmentBlocks& blocks, const KeyLists& keys) {
    const bool first_look = looked_into_.insert(segment.first).second;
    effort_.segments += first_look;
    const auto count = TRY(blocks.count());
    const auto index =
        segment.indexed && hash_
            ? SegmentIndex::open(path_ + '/' + spool::segment_file(segment.first, spool::index_suffix), *hash_, count)
            : std::nullopt;
    if (!index && first_look) effort_.unindexed += segment.first != segments_.back().first;
    std::vector<std::uint64_t> found;
    if (!index || keys.empty()) {
        found.resize(count);
        std::iota(found.begin(), found.end(), 0);
        return found;
    }
    found = index->blocks_of(keys.front());
    for (const auto& alternatives : keys | std::views::drop(1)) {
        std::vector<std::uint64_t> both;
        std::ranges::set_intersection(found, index->blocks_of(alternatives), std::back_inserter(both));
        found = std::move(both);
    }
    return found;
}

spool::Result<std::unique_ptr<spool::SegmentBlocks>> HistorySearch::open_blocks(const spool::Segment& segment) {
    auto blocks = spool::open_segment(disk_, directory_, segment);
    if (!blocks && blocks.error().code == ENOENT) { // sealed since the list was made, or removed
        auto sealed = segment;
        sealed.sealed = true;
        blocks = spool::open_segment(disk_, directory_, sealed);
        if (!blocks && blocks.error().code == ENOENT) return nullptr;
    }
    if (!blocks) return std::unexpected(blocks.error());
    if (const auto damage = (*blocks)->damage()) effort_.add(*damage);
    return blocks;
}

spool::Result<std::vector<json>> HistorySearch::read_block(spool::SegmentBlocks& blocks, const spool::Segment& segment,
                                                           std::uint64_t number, const LineTest& may_match) {
    if (cancelled_ && cancelled_()) return std::unexpected(spool::Error{ECANCELED, "the search was cancelled"});
    const auto block = TRY(blocks.read(number));
    if (block.damage) effort_.add(*block.damage);
    make_lower(block.text, lower_);
    std::vector<json> found;
    if (!may_match(block.text, lower_)) return found;
    spool::for_each_line(
        block.text,
        [&](const spool::JournalLine& line) {
            if (line.number > through_ || line.number >= segment.end || line.version > spool::journal_version) return;
            const auto at = static_cast<std::size_t>(line.text.data() - block.text.data());
            if (!may_match(line.text, std::string_view(lower_).substr(at, line.text.size()))) return;
            auto event = json::parse(line.text, nullptr, false);
            if (event.is_object()) found.push_back(std::move(event));
        },
        [&](std::string_view bad) {
            effort_.add({segment.file(), block.offset + static_cast<std::uint64_t>(bad.data() - block.text.data()),
                         "a line is not an event"});
        });
    return found;
}

spool::Result<> HistorySearch::newest_first(const HistoryQuery& query, const std::function<bool(json)>& visit,
                                            std::uint64_t from) {
    Walk walk{.from = from};
    const auto done = go_on(walk, query, visit, [] { return false; });
    if (!done) return std::unexpected(done.error());
    return {};
}

spool::Result<bool> HistorySearch::go_on(Walk& walk, const HistoryQuery& query, const std::function<bool(json)>& visit,
                                         const std::function<bool()>& pause) {
    const LineFilter filter(query);
    KeyLists keys;
    for (const auto& term : query.terms())
        if (auto alternatives = hash_ ? hash_->keys_of(term) : std::nullopt) keys.push_back(*std::move(alternatives));
    const auto may_match = [&](std::string_view, std::string_view lower) { return filter.may_match(lower); };
    bool first = true;
    for (const auto& segment : segments_ | std::views::reverse) {
        if (segment.first > std::min(walk.from, walk.segment.value_or(newest))) continue;
        const auto blocks = TRY(open_blocks(segment));
        if (blocks == nullptr || is_outside(blocks->times(), query)) continue;
        auto last = segment.end > walk.from ? TRY(blocks->block_of(walk.from)) : newest;
        if (walk.segment == segment.first) last = std::min(last, walk.block);
        for (const auto block : TRY(blocks_to_read(segment, *blocks, keys)) | std::views::reverse) {
            if (block > last) continue;
            if (!std::exchange(first, false) && pause()) {
                walk.segment = segment.first;
                walk.block = block;
                return false;
            }
            auto events = TRY(read_block(*blocks, segment, block, may_match));
            for (auto& event : events | std::views::reverse)
                if (number_of(event, "seq") <= walk.from && query.matches(event) && !visit(std::move(event)))
                    return true;
        }
    }
    return true;
}

spool::Result<> HistorySearch::events_of(const std::set<std::string>& ids, const std::function<void(json)>& visit) {
    const auto may_match = [&](std::string_view line, std::string_view) { return names_one_of(ids, line); };
    KeyLists keys;
    if (hash_) {
        keys.emplace_back();
        for (const auto& id : ids) keys.back().push_back(hash_->key_of_id(id));
    }
    for (const auto& segment : segments_) {
        const auto blocks = TRY(open_blocks(segment));
        if (blocks == nullptr) continue;
        for (const auto block : TRY(blocks_to_read(segment, *blocks, keys)))
            for (auto& event : TRY(read_block(*blocks, segment, block, may_match)))
                if (ids.contains(string_of(event, "id"))) visit(std::move(event));
    }
    return {};
}

} // namespace history
