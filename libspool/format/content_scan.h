// Properties of a content that delivery needs, collected while the bytes
// pass: 8-bit bytes, dots at line starts, the longest line, the start of
// the body, the checksum. Works on large views, not byte by byte.
#pragma once
#include <cstdint>
#include <string_view>

namespace spool {

struct ContentFacts {
    std::uint64_t size = 0;
    std::uint32_t crc = 0;          // CRC-32C of all bytes
    std::uint32_t longest_line = 0; // without its CRLF; saturates
    std::uint64_t body_offset = 0;  // first byte behind the empty line; size if there is none
    bool eight_bit = false;         // a byte above 127 anywhere
    bool eight_bit_header = false;  // … in the header
    bool dot_line = false;          // a line begins with a dot
    bool bare_lf_or_cr = false;     // a CR or LF that is no CRLF: the writer's caller should have fixed it
    bool ends_with_newline = true;  // the last line is whole (or there is none)
    bool nul = false;               // a NUL byte anywhere
    bool operator==(const ContentFacts&) const = default;
};

class ContentScan {
public:
    void append(std::string_view bytes);
    std::uint64_t size() const { return facts_.size; }
    // Of all that was appended.
    ContentFacts facts() const;

private:
    void line_piece(std::string_view piece, bool ends_here);
    ContentFacts facts_;
    std::uint64_t line_length_ = 0; // of the line not ended yet
    bool at_line_start_ = true;
    bool in_header_ = true;
    bool last_was_cr_ = false;
};

} // namespace spool
