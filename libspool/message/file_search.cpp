#include "libspool/message/file_search.h"
#include "libspool/format/record.h"
#include <array>
#include <string_view>

namespace spool {

namespace {
constexpr std::size_t sealed_part = 128; // of the header: what decode_header() wants
} // namespace

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
            step_ = Step::list_files;
            if (auto found = own(hint_.location == Location::incoming ? Location::messages : Location::incoming);
                !found || *found)
                return found;
            break;
        case Step::list_files: {
            step_ = Step::files;
            const auto names = disk_.list(directory_of(id_, Location::incoming));
            if (!names && names.error().code == ENOENT) break;
            if (!names) return std::unexpected(names.error()); // not knowing is not "nowhere"
            for (const auto& name : *names)
                if (const auto file = reused_file_named(name)) reused_.push_back(*file);
            break;
        }
        case Step::files:
            if (reused_.empty()) {
                step_ = Step::messages_again; // it may have been moved there between two looks
                break;
            }
            {
                const auto file = reused_.back();
                reused_.pop_back();
                auto found = in_reused(file);
                if (!found) return found;
                if (*found && TRY(names_it((*found)->file))) return found;
                break;
            }
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

Result<bool> FileSearch::names_it(const File& file) const {
    std::array<char, sealed_part> head;
    const auto header = decode_header(std::string_view(head.data(), TRY(disk_.read(file, 0, head))));
    return header && header->id == id_;
}

} // namespace spool
