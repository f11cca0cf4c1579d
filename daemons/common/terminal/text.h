// Values in the form for a terminal: columns, ages, sizes, times. Pure.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

// "3 h 12 min", "45 s".
std::string duration_text(std::int64_t seconds);
// "45s", "12m", "3h05m", "2d04h": for columns. "-" if negative.
std::string age_text(std::int64_t seconds);
// "812", "4.1K", "12M".
std::string size_text(std::uint64_t bytes);
// "2026-11-20 19:10:03", in the reader's time zone; "-" for 0.
std::string time_text(std::int64_t seconds);
// "1 message", "2 messages".
std::string count_text(std::int64_t count, std::string_view what);
// Cut to `width` characters with "…" at the end (0: not cut); a control character becomes "?".
std::string truncated(std::string_view text, std::size_t width);

// Rows under a heading, each column as wide as its widest cell; numbers are right-aligned.
class Table {
public:
    // A heading that begins with '>' right-aligns its column.
    explicit Table(std::vector<std::string_view> headings);
    void row(std::vector<std::string> cells);
    bool empty() const { return rows_.empty(); }
    // The last column is cut at `width`; 0: nothing is cut.
    std::string text(std::size_t width, std::string_view indent = "") const;

private:
    std::vector<std::string_view> headings_;
    std::vector<bool> right_;
    std::vector<std::vector<std::string>> rows_;
};

// A member of an object; it may be missing.
std::int64_t number_of(const nlohmann::json& object, const char* key);
std::string text_of(const nlohmann::json& object, const char* key);
bool flag_of(const nlohmann::json& object, const char* key);
// For the line of a queue or link: why its mail waits. A pause takes precedence over the last error, which matters less
// then.
std::string wait_reason(const nlohmann::json& line);
const nlohmann::json& list_of(const nlohmann::json& object, const char* key); // an empty one if there is none

} // namespace postrider
