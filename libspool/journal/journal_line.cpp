#include "libspool/journal/journal_line.h"
#include <algorithm>
#include <charconv>

namespace spool {

namespace {

// Removes the word and the number after it from the front.
bool take_number(std::string_view& text, std::string_view word, std::uint64_t& number) {
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

} // namespace

std::optional<JournalLine> parse_line(std::string_view text) {
    JournalLine line{.text = text};
    auto rest = text;
    if (!take_number(rest, R"({"v":)", line.version) || !take_number(rest, R"(,"seq":)", line.number)) return {};
    if (!rest.starts_with(',') || !rest.ends_with('}')) return {};
    return line;
}

namespace {

// Of a text near the beginning, where no text has characters that are escaped.
std::string_view early_member(const JournalLine& line, std::string_view key) {
    constexpr std::size_t searched = 256;
    const auto head = line.text.substr(0, searched);
    const auto at = head.find(key);
    if (at == head.npos) return {};
    const auto begin = at + key.size(), end = head.find('"', begin);
    return end == head.npos ? std::string_view() : head.substr(begin, end - begin);
}

} // namespace

std::string_view time_of(const JournalLine& line) { return early_member(line, R"("time":")"); }

std::string_view type_of(const JournalLine& line) { return early_member(line, R"("type":")"); }

void for_each_line(std::string_view text, const std::function<void(const JournalLine&)>& visit,
                   const std::function<void(std::string_view)>& bad) {
    while (!text.empty()) {
        const auto size = std::min(text.find('\n'), text.size());
        const auto one = text.substr(0, size);
        text.remove_prefix(std::min(size + 1, text.size()));
        if (const auto line = parse_line(one))
            visit(*line);
        else if (!one.empty())
            bad(one);
    }
}

} // namespace spool
