#include "libspool/journal/segment_end.h"
#include "libspool/journal/journal_line.h"
#include <algorithm>

namespace spool::journal {

namespace {

// Lines have no control characters: zeros are blocks that were never written.
std::optional<std::uint64_t> number_of(std::string_view text) {
    const auto line = parse_line(text);
    if (!line || text.contains('\0')) return {};
    return line->number;
}

} // namespace

SegmentEnd end_of(std::string_view text, std::optional<std::uint64_t> before) {
    SegmentEnd out;
    std::size_t at = before ? 0 : std::min(text.find('\n'), text.size() - 1) + 1;
    bool damage = false; // since the last whole line
    for (std::size_t end; (end = text.find('\n', at)) != std::string_view::npos; at = end + 1) {
        const auto number = number_of(text.substr(at, end - at));
        if (!number) {
            damage = true;
            continue;
        }
        if (damage && before) out.damaged = Numbers{out.damaged ? out.damaged->from : *before + 1, *number - 1};
        damage = false;
        before = out.last = *number;
        out.tail.add(text.substr(at, end - at));
    }
    return out;
}

Result<SegmentEnd> read_end(Disk& disk, const std::string& path, std::uint64_t first, std::size_t& most) {
    const auto file = TRY(disk.open(path, Open::read));
    const auto size = TRY(disk.size(file));
    std::string end(std::min<std::uint64_t>(size, most), '\0');
    end.resize(TRY(disk.read(file, size - end.size(), end)));
    most -= end.size();
    return end_of(end, end.size() == size ? std::optional(first - 1) : std::nullopt);
}

} // namespace spool::journal
