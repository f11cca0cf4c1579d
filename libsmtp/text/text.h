// Small tools for mail's text: ASCII case, strict numbers, and making
// text from others safe to log or send. Knows bytes only; no locale.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace smtp {

// What a peer got wrong, in a few words: "local part longer than 64". A value, never an exception.
struct Malformed {
    std::string why;
    bool operator==(const Malformed&) const = default;
};

// ASCII only: bytes above 127 and everything that is no letter stay as they are.
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
constexpr bool is_printable(char c) { return c >= 0x20 && c < 0x7f; }

std::string lowered(std::string_view text);
bool same_ignoring_case(std::string_view a, std::string_view b);
bool starts_with_ignoring_case(std::string_view text, std::string_view prefix);

// Digits only (no sign, no space), at least one, at most 20, not above `max`.
std::optional<std::uint64_t> parse_number(std::string_view digits,
                                          std::uint64_t max = std::numeric_limits<std::uint64_t>::max());

// Foreign text for a log, a reply or a header: every byte outside 0x20..0x7e becomes '?', and what is longer
// than `limit` is cut and ends in "...".
std::string printable(std::string_view text, std::size_t limit = 512);

} // namespace smtp
