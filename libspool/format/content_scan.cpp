#include "libspool/format/content_scan.h"
#include "libspool/format/crc32c.h"
#include <algorithm>
#include <cstring>
#include <limits>

namespace spool {

namespace {
// Eight bytes at a time: content is nearly always seven-bit, so all of it is examined.
bool has_eight_bit(std::string_view bytes) {
    std::uint64_t all = 0;
    std::size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
        std::uint64_t word;
        std::memcpy(&word, bytes.data() + at, 8);
        all |= word;
    }
    for (; at < bytes.size(); ++at) all |= static_cast<unsigned char>(bytes[at]) & 0x80u;
    return (all & 0x8080808080808080u) != 0;
}
} // namespace

// `piece` is of one line, without its LF; `ends_here`: the LF comes next.
void ContentScan::line_piece(std::string_view piece, bool ends_here) {
    if (!piece.empty()) {
        if (at_line_start_ && piece.front() == '.') facts_.dot_line = true;
        if (last_was_cr_) facts_.bare_lf_or_cr = true; // a CR with something other than LF behind it
        at_line_start_ = false;
        last_was_cr_ = piece.back() == '\r';
        const auto* cr = static_cast<const char*>(std::memchr(piece.data(), '\r', piece.size()));
        if (cr != nullptr && cr != &piece.back()) facts_.bare_lf_or_cr = true;
        line_length_ += piece.size();
    }
    const auto length = line_length_ - (last_was_cr_ ? 1 : 0);
    facts_.longest_line = static_cast<std::uint32_t>(
        std::max<std::uint64_t>(facts_.longest_line, std::min<std::uint64_t>(length, UINT32_MAX)));
    if (!ends_here) return;
    if (!last_was_cr_) facts_.bare_lf_or_cr = true;
    if (in_header_ && length == 0) in_header_ = false;
    at_line_start_ = true;
    last_was_cr_ = false;
    line_length_ = 0;
}

void ContentScan::append(std::string_view bytes) {
    if (bytes.empty()) return;
    facts_.crc = crc32c(bytes, facts_.crc);
    if (!facts_.nul && std::memchr(bytes.data(), '\0', bytes.size()) != nullptr) facts_.nul = true;
    const bool eight_bit = has_eight_bit(bytes);
    facts_.eight_bit = facts_.eight_bit || eight_bit;
    std::string_view rest = bytes;
    while (!rest.empty()) {
        const auto* lf = static_cast<const char*>(std::memchr(rest.data(), '\n', rest.size()));
        const auto length = lf == nullptr ? rest.size() : static_cast<std::size_t>(lf - rest.data());
        const bool was_header = in_header_;
        if (was_header && eight_bit && !facts_.eight_bit_header)
            facts_.eight_bit_header = has_eight_bit(rest.substr(0, length));
        line_piece(rest.substr(0, length), lf != nullptr);
        rest.remove_prefix(lf == nullptr ? length : length + 1);
        if (was_header && !in_header_) facts_.body_offset = facts_.size + (bytes.size() - rest.size());
    }
    facts_.size += bytes.size();
    if (in_header_) facts_.body_offset = facts_.size;
    facts_.ends_with_newline = at_line_start_;
}

ContentFacts ContentScan::facts() const {
    ContentFacts facts = facts_;
    if (last_was_cr_) facts.bare_lf_or_cr = true; // a CR at the very end
    return facts;
}

} // namespace spool
