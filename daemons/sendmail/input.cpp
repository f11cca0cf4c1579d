#include "daemons/sendmail/input.h"
#include <array>
#include <unistd.h>

namespace sendmail {

std::size_t DotScanner::feed(std::string_view bytes, std::string& message) {
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        const char c = bytes[at];
        // A dot at a line's beginning is held back until it is known what follows.
        switch (place_) {
        case Place::line_start:
            if (c == '.') {
                place_ = Place::dot;
                continue;
            }
            break;
        case Place::dot:
        case Place::dot_cr:
            if (c == '\n') {
                ended_ = true;
                return at + 1;
            }
            if (place_ == Place::dot && c == '\r') {
                place_ = Place::dot_cr;
                continue;
            }
            message += place_ == Place::dot ? "." : ".\r";
            break;
        case Place::line: break;
        }
        message += c;
        place_ = c == '\n' ? Place::line_start : Place::line;
    }
    return bytes.size();
}

spool::Result<std::string> read_message(int descriptor, DotHandling dots, std::uint64_t limit) {
    std::string message;
    DotScanner scan;
    std::array<char, 65536> buffer;
    for (;;) {
        const auto n = ::read(descriptor, buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return std::unexpected(spool::Error::from_errno("reading the message"));
        if (n == 0) break; // a dot that was held back ended the last line, and so the message
        const std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
        if (dots == DotHandling::literal)
            message += bytes;
        else
            scan.feed(bytes, message);
        if (message.size() > limit)
            return std::unexpected(
                spool::Error{EFBIG, "the message is larger than " + std::to_string(limit) + " bytes"});
        if (scan.ended()) break;
    }
    return message;
}

} // namespace sendmail
