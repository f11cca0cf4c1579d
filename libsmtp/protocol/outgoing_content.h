// Message content on its way into DATA or BDAT: over-long lines wrapped, and for DATA dots stuffed and the
// final dot. Knows lines; must not know who owns the bytes. Content comes in chunks of any size and leaves
// as views of those chunks (and of constants): nothing is copied, and an ordinary chunk leaves as one view.
//
// Whatever the input, no bare CR or LF ever leaves, and only finish() ends the message.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace smtp {

class OutgoingContent {
public:
    static constexpr std::size_t line_limit = 998; // RFC 5321, 4.5.3.1.6, without CRLF

    enum class Framing : std::uint8_t {
        dots,    // DATA (RFC 5321, 4.5.2): the message ends with a dot
        counted, // BDAT (RFC 3030): its bytes are counted, and lines may begin as they like
    };
    // `longest_line`: of the whole content, without CRLF, if known; up to line_limit saves looking for long
    // lines.
    explicit OutgoingContent(std::uint64_t longest_line = UINT64_MAX, Framing framing = Framing::dots)
        : wrap_(longest_line > line_limit), stuff_(framing == Framing::dots) {}

    // Appends the views that carry `chunk`. They are good as long as the chunk's bytes are.
    void encode(std::string_view chunk, std::vector<std::string_view>& out);
    // Appends what ends the message: the last line's CRLF if it has none, and the final dot if dots count.
    void finish(std::vector<std::string_view>& out);

private:
    void encode_lines(std::string_view chunk, std::vector<std::string_view>& out);

    bool wrap_, stuff_;
    bool held_cr_ = false;   // a CR whose next byte is not known yet
    std::size_t column_ = 0; // bytes of the current line already sent
};

} // namespace smtp
