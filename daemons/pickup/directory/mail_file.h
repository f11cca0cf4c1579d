// The beginning of a file of the pickup directory: optional lines X-Sender and X-Receiver with the envelope, as
// Exchange takes them, then a message (RFC 5322). Line ends are LF or CRLF. Pure.
#pragma once
#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace pickup {

inline constexpr std::size_t largest_beginning = 1024 * 1024; // bytes: the lines of the envelope, and the header

struct MailFile {
    std::string sender;                 // as given; "" is the null sender
    std::vector<std::string> receivers; // none: those of To, Cc and Bcc
    std::size_t message_at = 0;         // where the message begins

    // `whole`: the file ends with `beginning`. The error is a line for the owner of the file.
    static std::expected<MailFile, std::string> parse(std::string_view beginning, bool whole);
};

} // namespace pickup
