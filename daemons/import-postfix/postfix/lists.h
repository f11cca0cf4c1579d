// The small languages inside values of main.cf: lists with groups in braces, times, yes and no, names of ports, next
// hops. Knows Postfix's syntax and nothing about Postrider. Pure.
#pragma once
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postrider::postfix {

std::string_view trimmed(std::string_view text); // without blanks and line ends around it
std::string excerpt(std::string_view text);      // at most 60 characters of it, for messages

// Words between any of `separators`; "{ a b }" is one word, braces included. The error says what is wrong.
std::expected<std::vector<std::string>, std::string> split(std::string_view text, std::string_view separators);
// A list as most settings have it: between commas and blanks. With an unclosed brace the rest is one word.
std::vector<std::string> words_of(std::string_view text);
// "{ a b }" is "a b"; anything else stays.
std::string_view unbraced(std::string_view text);
// "smtp:[relay]": the word before the first colon in lower case, and what follows.
struct TypedName {
    std::string type, name;
};
std::optional<TypedName> parse_typed(std::string_view text);
// The tables of which a table is made: those in "unionmap:{…}", however deep, and of "pipemap:{…}" itself, all in it,
// or the last one, whose values are the results. Anything else is one itself. Without "proxy:".
enum class OfChain : std::uint8_t { itself, all, last };
std::vector<std::string> tables_in(std::string_view table, OfChain of_chain = OfChain::itself);

// "4h", "300", "1h30m" is none: a whole number and one of s, m, h, d, w; without a letter in `unit`s.
// Seconds.
std::optional<std::uint64_t> seconds_of(std::string_view text, char unit);
std::optional<std::uint64_t> number_of(std::string_view text);
std::optional<bool> flag_of(std::string_view text); // yes, no

// A port's number or its usual name ("submission").
std::optional<std::uint16_t> port_of(std::string_view text);

// "127.0.0.[2..4;9]", as in reject_rbl_client and postscreen_dnsbl_sites: the addresses it represents, at most 256;
// nothing: it is invalid, or there are more.
std::optional<std::vector<std::string>> addresses_of(std::string_view pattern);

// "[host]:port", "host", "inet:host:port", "unix:/path".
struct Destination {
    std::string host;       // or path
    bool brackets = false;  // no MX lookup
    bool path = false;      // of a socket
    std::uint16_t port = 0; // 0: none was named
};
std::optional<Destination> destination_of(std::string_view text);

} // namespace postrider::postfix
