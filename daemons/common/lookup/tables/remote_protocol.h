// The two protocols for querying tables over a socket: Sendmail's socket maps (netstrings; Postfix's
// socketmap_table(5)) and Postfix's tcp_table(5). One request, one answer, in order. Pure.
#pragma once
#include "daemons/common/lookup/format/answer.h"
#include "libsmtp/text/text.h"
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace tables {

inline constexpr std::size_t longest_reply = 100'000; // bytes of an answer

struct Reply {
    Answer answer;
    std::size_t bytes = 0;    // consumed from the buffer
    bool whole_table = false; // unavailable is not this key alone, but every key
};
// Empty: the reply is incomplete. Malformed: no further data can make it valid.
using ParseResult = std::expected<std::optional<Reply>, smtp::Malformed>;

namespace socketmap {
std::string request(std::string_view map, std::string_view key);
ParseResult parse_reply(std::string_view buffer);
} // namespace socketmap

namespace tcp_table {
std::string request(std::string_view key); // bytes outside of "!".."~", and "%", are sent as %XX
ParseResult parse_reply(std::string_view buffer);
} // namespace tcp_table

// The process maps: socket maps with one more word, "DOWN reason": the table is unavailable for every key.
namespace maps_protocol {
struct Request {
    std::string table, key;
    std::size_t bytes = 0; // consumed from the buffer
};
inline constexpr std::size_t longest_request = 9000;
// Empty: incomplete.
std::expected<std::optional<Request>, smtp::Malformed> parse_request(std::string_view buffer);
// Never not_yet. What exceeds the longest reply is unavailable.
std::string reply(const Answer& answer, bool whole_table);
ParseResult parse_reply(std::string_view buffer);
} // namespace maps_protocol

} // namespace tables
