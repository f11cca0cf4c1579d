// One line of the journal as its reader sees it before anything is decoded: a JSON object that begins with its version
// and number. Pure; knows nothing else of JSON.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace spool {

// Lines of this version and older ones are understood.
inline constexpr std::uint64_t journal_version = 1;
// A line with its end. Longer ones are damage: the longest that is written is far below.
inline constexpr std::size_t longest_line = 128 * 1024;

struct JournalLine {
    std::uint64_t version = 0, number = 0;
    std::string_view text; // without the line's end
};

// {"v":1,"seq":42,…}. Nothing: it is no line of a journal.
std::optional<JournalLine> parse_line(std::string_view text);
// The time as written, "2026-11-26T18:00:00.000001Z"; "" if there is none near the beginning.
std::string_view time_of(const JournalLine& line);
// The kind of the event as written, "message.failed"; "" as above.
std::string_view type_of(const JournalLine& line);

// Each line in `text`, which begins with a line: what is no line of a journal goes to `bad`.
void for_each_line(std::string_view text, const std::function<void(const JournalLine&)>& visit,
                   const std::function<void(std::string_view)>& bad);

} // namespace spool
