#include "libspool/message/file_search.h"
#include "libspool/format/record.h"
#include <array>
#include <cerrno>
#include <string_view>

namespace spool {

Result<QueueId> find_in_reused(Disk& disk, QueueId id) {
    const auto names = disk.list(directory_of(id, Location::incoming));
    if (!names && names.error().code == ENOENT) return own_file;
    if (!names) return std::unexpected(names.error()); // not knowing is not "in none"
    for (const auto& name : *names) {
        const auto file = reused_file_named(name);
        if (!file) continue;
        const auto opened = disk.open(path_of_reused(*file), Open::read);
        if (!opened && opened.error().code == ENOENT) continue;
        if (!opened) return std::unexpected(opened.error());
        std::array<char, header_size> head;
        const auto header = decode_header(std::string_view(head.data(), TRY(disk.read(*opened, 0, head))));
        if (header && header->id == id) return *file;
    }
    return own_file;
}

Result<std::optional<FoundFile>> FileSearch::next() {
    for (;;) switch (step_) {
        case Step::hinted_file:
            step_ = Step::hinted_place;
            if (hint_.reused.valid())
                if (auto found = in_reused(hint_.reused); !found || *found) return found;
            break;
        case Step::hinted_place:
            step_ = Step::other_place;
            if (auto found = own(hint_.location); !found || *found) return found;
            break;
        case Step::other_place:
            step_ = Step::reused_files;
            if (auto found = own(hint_.location == Location::incoming ? Location::messages : Location::incoming);
                !found || *found)
                return found;
            break;
        case Step::reused_files: {
            step_ = Step::incoming_again; // it may leave its place between two looks, in this order
            const auto file = TRY(find_in_reused(disk_, id_));
            if (file == own_file) break;
            if (auto found = in_reused(file); !found || *found) return found;
            break;
        }
        case Step::incoming_again:
            step_ = Step::messages_again;
            if (auto found = own(Location::incoming); !found || *found) return found;
            break;
        case Step::messages_again: step_ = Step::end; return own(Location::messages);
        case Step::end: return std::nullopt;
        }
}

Result<std::optional<FoundFile>> FileSearch::own(Location location) {
    auto file = disk_.open(path_of(id_, location), Open::read);
    if (file) return FoundFile{std::move(*file), location};
    if (file.error().code == ENOENT) return std::nullopt;
    return std::unexpected(std::move(file).error());
}

Result<std::optional<FoundFile>> FileSearch::in_reused(QueueId name) {
    auto file = disk_.open(path_of_reused(name), Open::read);
    if (file) return FoundFile{std::move(*file), FileHint{Location::incoming, name}};
    if (file.error().code == ENOENT) return std::nullopt;
    return std::unexpected(std::move(file).error());
}

} // namespace spool
