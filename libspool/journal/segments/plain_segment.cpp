#include "libspool/journal/segments/plain_segment.h"
#include "libspool/journal/journal_line.h"
#include <fmt/format.h>

namespace spool {

Result<std::unique_ptr<SegmentBlocks>> PlainSegment::open(Disk& disk, const std::string& directory,
                                                          std::uint64_t first) {
    auto name = segment_file(first, plain_suffix);
    auto file = TRY(disk.open(directory + "/" + name, Open::read));
    return std::make_unique<PlainSegment>(disk, std::move(name), std::move(file));
}

PlainSegment::PlainSegment(Disk& disk, std::string name, File file)
    : disk_(disk), name_(std::move(name)), file_(std::move(file)) {}

Result<std::uint64_t> PlainSegment::count() {
    const auto size = TRY(disk_.size(file_));
    return (size + block_size - 1) / block_size;
}

Result<Block> PlainSegment::read(std::uint64_t block) {
    // One byte before it too: a line begins here if that byte ends one.
    const auto at = block * block_size;
    const std::size_t before = block > 0 ? 1 : 0;
    bytes_.resize(before + block_size + longest_line);
    const auto size = TRY(disk_.read(file_, at - before, bytes_));
    const std::string_view all(bytes_.data(), size);
    auto begin = std::size_t{0};
    if (before > 0) {
        const auto end_of_previous = all.substr(0, block_size).find('\n');
        if (end_of_previous == all.npos) return Block{}; // no line begins here
        begin = end_of_previous + 1;
    }
    // The last line that begins here may end behind it.
    const auto limit = before + block_size;
    if (begin >= all.size()) return Block{};
    auto end = all.size();
    if (all.size() >= limit) {
        const auto last = all.find('\n', limit - 1);
        if (last != all.npos) {
            end = last + 1;
        } else {
            end = all.rfind('\n', limit - 1) + 1; // npos + 1 is 0
            const bool grows = all.size() < bytes_.size();
            Block out{.text = end > begin ? all.substr(begin, end - begin) : std::string_view(),
                      .offset = at - before + begin};
            if (!grows)
                out.damage = Damage{name_, at - before + std::max(end, begin),
                                    fmt::format("a line is longer than {} bytes", longest_line)};
            return out;
        }
    } else {
        end = all.rfind('\n') + 1; // without an unfinished last line
    }
    return Block{.text = end > begin ? all.substr(begin, end - begin) : std::string_view(),
                 .offset = at - before + begin};
}

Result<std::optional<std::uint64_t>> PlainSegment::first_number(std::uint64_t block) {
    const auto text = TRY(read(block)).text;
    const auto line = parse_line(text.substr(0, text.find('\n')));
    return line ? std::optional(line->number) : std::nullopt;
}

} // namespace spool
