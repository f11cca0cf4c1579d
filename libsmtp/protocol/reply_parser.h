// Parses a server's replies (RFC 5321, 4.2) from a stream of bytes. Knows the syntax of replies and
// its own limits; must not know the commands. Strict: only CRLF ends a line; a NUL or a line that is
// not a reply is Malformed, because a peer whose replies are ambiguous cannot be trusted with mail.
#pragma once
#include "libsmtp/protocol/reply.h"
#include "libsmtp/text/text.h"
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace smtp {

class ReplyParser {
public:
    static constexpr std::size_t line_limit = 8192; // bytes, without CRLF
    static constexpr std::size_t lines_limit = 100; // of one reply
    static constexpr std::size_t kept = 512;        // bytes of text kept, of all lines together, unless asked

    struct Incomplete {};
    using Result = std::variant<Incomplete, Reply, Malformed>;

    // Takes bytes off the front of `input`, up to the end of one reply. Incomplete: all of them were taken.
    // After Malformed ("line too long", "not a reply: HTTP/1.1 …") the stream is lost. `keep`: bytes of text.
    Result next(std::string_view& input, std::size_t keep = kept);

    // Nothing of a further reply has come yet.
    bool idle() const { return line_.empty() && lines_ == 0; }

private:
    Result take_line(std::string_view line, std::size_t keep);

    std::string line_; // the part of a line that came before
    Reply reply_;
    std::size_t lines_ = 0;
};

} // namespace smtp
