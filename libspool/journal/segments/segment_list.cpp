#include "libspool/journal/segments/segment_list.h"
#include <array>
#include <limits>
#include <map>

namespace spool {

std::vector<Segment> segments_of(const std::vector<std::string>& names) {
    std::map<std::uint64_t, Segment> found;
    const auto note = [&](std::string_view name, std::string_view suffix, bool Segment::* there) {
        const auto first = journal::first_in(name, suffix);
        if (!first) return;
        found[*first].first = *first;
        found[*first].*there = true;
    };
    for (const auto& name : names) {
        note(name, plain_suffix, &Segment::plain);
        note(name, sealed_suffix, &Segment::sealed);
        note(name, index_suffix, &Segment::indexed);
    }
    std::vector<Segment> segments;
    for (const auto& [first, segment] : found)
        if (segment.plain || segment.sealed) segments.push_back(segment);
    for (std::size_t i = 0; i < segments.size(); ++i)
        segments[i].end = i + 1 < segments.size() ? segments[i + 1].first : std::numeric_limits<std::uint64_t>::max();
    return segments;
}

Result<std::vector<Segment>> list_segments(Disk& disk, const std::string& directory) {
    return segments_of(TRY(disk.list(directory)));
}

Result<std::optional<std::uint64_t>> published_number(Disk& disk, const std::string& directory) {
    auto file = disk.open(directory + "/" + std::string(journal::synced_file), Open::read);
    if (!file && file.error().code == ENOENT) return std::nullopt;
    if (!file) return std::unexpected(file.error());
    std::array<char, 16> bytes{};
    const auto read = TRY(disk.read(*file, 0, bytes));
    return journal::decode_mark(journal::synced_magic, std::string_view(bytes.data(), read));
}

} // namespace spool
