#include "daemons/common/history/history_search.h"
#include "daemons/common/history/line_filter.h"
#include "libspool/journal/segments/journal_line.h"
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>

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

spool::Result<HistorySearch> HistorySearch::open(spool::Disk& disk, std::string directory, std::uint64_t through) {
    HistorySearch search(disk, std::move(directory), through);
    search.segments_ = TRY(spool::list_segments(disk, search.directory_));
    return search;
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

spool::Result<> HistorySearch::newest_first(const HistoryQuery& query, const std::function<bool(json)>& visit) {
    const LineFilter filter(query);
    const auto may_match = [&](std::string_view, std::string_view lower) { return filter.may_match(lower); };
    for (const auto& segment : segments_ | std::views::reverse) {
        const auto blocks = TRY(open_blocks(segment));
        if (blocks == nullptr) continue;
        ++effort_.segments;
        ++effort_.unindexed;
        for (auto block = TRY(blocks->count()); block-- > 0;) {
            auto events = TRY(read_block(*blocks, segment, block, may_match));
            for (auto& event : events | std::views::reverse)
                if (query.matches(event) && !visit(std::move(event))) return {};
        }
    }
    return {};
}

spool::Result<> HistorySearch::events_of(const std::set<std::string>& ids, const std::function<void(json)>& visit) {
    const auto may_match = [&](std::string_view line, std::string_view) { return names_one_of(ids, line); };
    for (const auto& segment : segments_) {
        const auto blocks = TRY(open_blocks(segment));
        if (blocks == nullptr) continue;
        const auto count = TRY(blocks->count());
        for (std::uint64_t block = 0; block < count; ++block)
            for (auto& event : TRY(read_block(*blocks, segment, block, may_match)))
                if (ids.contains(string_of(event, "id"))) visit(std::move(event));
    }
    return {};
}

} // namespace history
