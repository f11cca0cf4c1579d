#include "libspool/journal/directory.h"
#include "libspool/journal/names.h"
#include <algorithm>
#include <functional>

namespace spool::journal {

Result<Beginning> Directory::look(std::string_view random) {
    TRY(disk_.make_directory(path_, 0700));
    Beginning out{.node = TRY(node(random)), .missing = {}, .tail = {}};
    std::uint64_t last = mark(synced_file, synced_magic).value_or(0);
    std::vector<std::uint64_t> segments;
    for (const auto& name : TRY(disk_.list(path_))) {
        const auto open = first_in(name, segment_suffix);
        const auto first = open ? open : first_in(name, sealed_suffix);
        if (!first) continue;
        last = std::max(last, *first - 1);
        if (open) segments.push_back(*open);
    }
    auto end = end_of_all(std::move(segments));
    last = std::max(last, end.last);
    out.tail = std::move(end.tail);
    if (last == 0) return out;
    if (mark(stopped_file, stopped_magic) == last && end.last == last) {
        out.next = last + 1;
        return out;
    }
    if (end.damaged) out.missing.push_back(*end.damaged);
    out.missing.push_back({last + 1, last + skipped});
    out.next = last + skipped + 1;
    return out;
}

// What cannot be read or synced now does not stop mail: its numbers are skipped.
SegmentEnd Directory::end_of_all(std::vector<std::uint64_t> segments) {
    std::ranges::sort(segments, std::greater());
    SegmentEnd out;
    auto most = end_size;
    for (const auto first : segments) {
        const auto path = file(segment_file(first, segment_suffix));
        auto end = read_end(disk_, path, first, most);
        if (!end) break;
        if (first == segments.front()) {
            out = *std::move(end);
            if (const auto newest = disk_.open(path, Open::read_write)) // it may be there in memory only
                static_cast<void>(disk_.sync(*newest));
        } else {
            out.tail.add_older(std::move(end->tail));
        }
        if (most == 0) break;
    }
    return out;
}

Result<> Directory::sync() {
    if (!broken_) return broken_;
    const auto directory = TRY(disk_.open(path_, Open::directory));
    broken_ = disk_.sync(directory);
    return broken_;
}

// A file that is no identity was never completed: none was used.
Result<std::string> Directory::node(std::string_view random) {
    const auto handle = TRY(disk_.open(file(node_file), Open::upsert));
    std::string text(64, '\0');
    text.resize(TRY(disk_.read(handle, 0, text)));
    if (text.ends_with('\n') && is_node_id(std::string_view(text).substr(0, text.size() - 1))) {
        text.pop_back();
        return text;
    }
    const auto made = node_id_of(random);
    const auto line = made + '\n';
    const std::string_view part = line;
    TRY(disk_.write(handle, 0, {&part, 1}));
    TRY(disk_.sync(handle));
    TRY(sync());
    const auto slash = path_.rfind('/');
    TRY(disk_.sync(TRY(disk_.open(slash == std::string::npos ? "." : path_.substr(0, slash), Open::directory))));
    return made;
}

std::optional<std::uint64_t> Directory::mark(std::string_view name, std::string_view magic) {
    const auto handle = disk_.open(file(name), Open::read);
    if (!handle) return {};
    std::string bytes(17, '\0'); // one more than a mark has
    const auto got = disk_.read(*handle, 0, bytes);
    if (!got) return {};
    bytes.resize(*got);
    return decode_mark(magic, bytes);
}

} // namespace spool::journal
