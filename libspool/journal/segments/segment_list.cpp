#include "libspool/journal/segments/segment_list.h"
#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <limits>
#include <map>

namespace spool {

namespace {

constexpr std::size_t digits = 20;

} // namespace

std::string segment_file(std::uint64_t first, std::string_view suffix) {
    return fmt::format("{:020}{}", first, suffix);
}

std::vector<Segment> segments_of(const std::vector<std::string>& names) {
    std::map<std::uint64_t, Segment> found;
    for (const std::string_view name : names) {
        if (name.size() <= digits) continue;
        std::uint64_t first = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + digits, first);
        if (error != std::errc{} || end != name.data() + digits) continue;
        const auto suffix = name.substr(digits);
        const bool plain = suffix == plain_suffix, sealed = suffix == sealed_suffix, indexed = suffix == index_suffix;
        if (!plain && !sealed && !indexed) continue;
        auto& segment = found[first];
        segment.first = first;
        segment.plain |= plain;
        segment.sealed |= sealed;
        segment.indexed |= indexed;
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
