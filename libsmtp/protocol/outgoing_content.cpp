#include "libsmtp/protocol/outgoing_content.h"
#include <algorithm>
#include <cstring>

namespace smtp {
namespace {

using Sixteen = signed char __attribute__((vector_size(16)));

Sixteen load(const char* bytes) {
    Sixteen out;
    std::memcpy(&out, bytes, sizeof out);
    return out;
}

bool odd_pair(char before, char now) { return (now == '\n') != (before == '\r') || (now == '.' && before == '\n'); }

// Nothing but whole CRLFs, and no line inside that begins with a dot. Sixteen pairs of neighbours at a time:
// this runs over every byte that is ever sent.
bool plain(std::string_view chunk) {
    const char* bytes = chunk.data();
    std::size_t at = 1;
    Sixteen odd{};
    for (; at + 16 <= chunk.size(); at += 16) {
        const Sixteen before = load(bytes + at - 1), now = load(bytes + at);
        odd |= ((now == '\n') ^ (before == '\r')) | ((now == '.') & (before == '\n'));
    }
    std::uint64_t halves[2];
    std::memcpy(halves, &odd, sizeof halves);
    if (halves[0] | halves[1]) return false;
    for (; at < chunk.size(); ++at)
        if (odd_pair(bytes[at - 1], bytes[at])) return false;
    return true;
}

// The next CR or LF at or after `from`, or the end.
std::size_t line_end(std::string_view chunk, std::size_t from) {
    const auto lf = std::min(chunk.find('\n', from), chunk.size());
    const auto cr = chunk.substr(0, lf).find('\r', from);
    return cr == chunk.npos ? lf : cr;
}

} // namespace

void OutgoingContent::encode(std::string_view chunk, std::vector<std::string_view>& out) {
    if (chunk.empty()) return;
    const bool odd_start = held_cr_ || chunk.front() == '\n' || (stuff_ && column_ == 0 && chunk.front() == '.');
    if (wrap_ || odd_start || !plain(chunk)) return encode_lines(chunk, out);
    held_cr_ = chunk.back() == '\r';
    column_ = chunk.back() == '\n' ? 0 : 1; // without wrapping, only "at the start of a line" matters
    if (held_cr_) chunk.remove_suffix(1);
    if (!chunk.empty()) out.push_back(chunk);
}

void OutgoingContent::encode_lines(std::string_view chunk, std::vector<std::string_view>& out) {
    std::size_t from = 0, at = 0; // what is not in `out` yet begins; where we look
    auto insert = [&](std::string_view text, std::size_t resume_at) {
        if (at > from) out.push_back(chunk.substr(from, at - from));
        out.push_back(text);
        from = at = resume_at;
    };
    if (held_cr_) {
        held_cr_ = false;
        column_ = 0;
        insert("\r\n", chunk.front() == '\n' ? 1 : 0);
    }
    while (at < chunk.size()) {
        if (stuff_ && column_ == 0 && chunk[at] == '.') insert(".", at);
        const auto end = line_end(chunk, at);
        while (wrap_ && column_ + (end - at) > line_limit) {
            at += line_limit - column_;
            insert("\r\n ", at);
            column_ = 1;
        }
        column_ += end - at;
        at = end;
        if (at == chunk.size()) break;
        column_ = 0;
        if (chunk[at] == '\r' && at + 1 == chunk.size()) { // whose LF may be in the next chunk
            held_cr_ = true;
            column_ = 1;
            if (at > from) out.push_back(chunk.substr(from, at - from));
            return;
        }
        if (chunk[at] == '\r' && chunk[at + 1] == '\n')
            at += 2;
        else
            insert("\r\n", at + 1); // a bare one
    }
    if (at > from) out.push_back(chunk.substr(from, at - from));
}

void OutgoingContent::finish(std::vector<std::string_view>& out) {
    const bool line_open = column_ != 0 || held_cr_;
    if (stuff_)
        out.push_back(line_open ? "\r\n.\r\n" : ".\r\n");
    else if (line_open)
        out.push_back("\r\n");
    held_cr_ = false;
    column_ = 0;
}

} // namespace smtp
