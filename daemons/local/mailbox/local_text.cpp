#include "daemons/local/mailbox/local_text.h"
#include <algorithm>

namespace local {
namespace {
constexpr std::string_view from = "From ";
}

// A piece without LF in it; CRs in it are not followed by LF.
void LocalText::line_piece(std::string_view piece, std::string& out) {
    if (at_line_start_ && from_lines_ == FromLines::quoted) {
        while (!piece.empty() && start_.size() < from.size() && piece.front() == from[start_.size()]) {
            start_ += piece.front();
            piece.remove_prefix(1);
        }
        if (start_ == from) out += '>';
        if (piece.empty() && start_ != from) return;
        out += start_;
        start_.clear();
    }
    if (!piece.empty() || from_lines_ == FromLines::quoted) at_line_start_ = false;
    out += piece;
}

void LocalText::append(std::string_view bytes, std::string& out) {
    while (!bytes.empty()) {
        if (held_cr_ && bytes.front() != '\n') line_piece("\r", out);
        held_cr_ = false;
        const std::size_t end = bytes.find('\n');
        std::string_view line = bytes.substr(0, std::min(end, bytes.size()));
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
            held_cr_ = end == bytes.npos;
        }
        if (!line.empty()) line_piece(line, out);
        if (end == bytes.npos) return;
        out += start_;
        start_.clear();
        out += '\n';
        at_line_start_ = true;
        bytes.remove_prefix(end + 1);
    }
}

void LocalText::finish(std::string& out) {
    held_cr_ = false;
    if (!at_line_start_ || !start_.empty()) {
        out += start_;
        out += '\n';
    }
    start_.clear();
    at_line_start_ = true;
}

} // namespace local
