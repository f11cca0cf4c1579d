#include "daemons/events/segment_eraser.h"
#include "daemons/events/hooks/dead_letters.h"
#include "libspool/disk/durable_file.h"
#include "libspool/journal/segments/sealed_segment.h"
#include "libspool/journal/segments/segment_sealer.h"
#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>

namespace events {

using spool::Result;

namespace {

// Does it have anything to erase? Nothing: given up.
Result<std::optional<bool>> is_concerned(spool::SegmentBlocks& blocks, const history::Erasure& erasure,
                                         const std::atomic<bool>& give_up) {
    const auto count = TRY(blocks.count());
    for (std::uint64_t block = 0; block < count; ++block) {
        if (give_up) return std::nullopt;
        std::uint64_t found = 0;
        static_cast<void>(erasure.erased_from(TRY(blocks.read(block)).text, found));
        if (found > 0) return true;
    }
    return false;
}

Result<std::string> read_all(spool::Disk& disk, const spool::File& file) {
    std::string text(TRY(disk.size(file)), '\0');
    text.resize(TRY(disk.read(file, 0, text)));
    return text;
}

// {"time":…,"reason":…,"event":{…}}: the event becomes a tombstone, and the reason, which is the receiver's, goes too.
std::string letters_without(const std::string& text, const history::Erasure& erasure, std::uint64_t& erased) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        const auto line = std::string_view(text).substr(at, end - at);
        at = end + 1;
        const auto letter = nlohmann::json::parse(line, nullptr, false);
        const auto event = letter.is_object() ? letter.find("event") : letter.end();
        if (letter.is_object() && event != letter.end() && erasure.concerns(letter)) {
            out += encode(DeadLetter{.event = {.number = 0, .line = history::tombstone_of(*event)},
                                     .reason = "",
                                     .time = letter.value("time", "")});
            ++erased;
        } else {
            out.append(line).append("\n");
        }
    }
    return out;
}

} // namespace

Result<ErasedSegment> erase_from_segment(spool::Disk& disk, const std::string& directory, std::uint64_t first,
                                         const history::Erasure& erasure, const std::atomic<bool>& give_up) {
    ErasedSegment done;
    {
        auto blocks = TRY(spool::SealedSegment::open(disk, directory, first));
        const auto concerned = TRY(is_concerned(*blocks, erasure, give_up));
        done.given_up = !concerned;
        // Without its table a replacement was interrupted.
        if (done.given_up || (!*concerned && !blocks->damage())) return done;
    }
    auto sealer = TRY(spool::SegmentSealer::again(
        disk, directory, first, [&](std::string_view text) { return erasure.erased_from(text, done.events); }));
    for (bool more = true; more;) {
        if (give_up) return ErasedSegment{.given_up = true};
        more = TRY(sealer.step());
    }
    TRY(sealer.finish());
    return done;
}

Result<std::uint64_t> erase_from_dead_letters(spool::Disk& disk, const std::string& directory,
                                              const history::Erasure& erasure, std::mutex& writing) {
    const auto folder = directory + '/' + dead_directory;
    const auto names = disk.list(folder);
    if (!names && names.error().code == ENOENT) return 0;
    if (!names) return std::unexpected(names.error());
    std::uint64_t erased = 0;
    for (const auto& name : *names) {
        if (!name.ends_with(dead_file(""))) continue;
        const std::lock_guard lock(writing);
        const auto path = folder + '/' + name;
        auto file = TRY(disk.open(path, spool::Open::read));
        const auto before = erased;
        const auto text = letters_without(TRY(read_all(disk, file)), erasure, erased);
        if (erased == before) continue;
        TRY(spool::replace_durably(disk, path, text));
    }
    return erased;
}

} // namespace events
