#include "libsmtp/session/server_input.h"
#include "libsmtp/protocol/framing.h"
#include <algorithm>
#include <utility>

namespace smtp {

static bool is_noise(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

void ServerInput::append(std::string_view bytes) {
    if (begin_ == bytes_.size()) {
        bytes_.assign(bytes);
    } else {
        bytes_.erase(0, begin_);
        bytes_.append(bytes);
    }
    begin_ = 0;
}

void ServerInput::trim() {
    bytes_.erase(0, std::exchange(begin_, 0));
    bytes_.shrink_to_fit();
}

void ServerInput::release_if_used_up() {
    constexpr std::size_t small = 4096;
    if (begin_ == bytes_.size() && bytes_.capacity() > small) clear();
}

ServerInput::CommandLine ServerInput::next_command(std::size_t limit, bool bare_newlines) {
    using Kind = CommandLine::Kind;
    const auto input = pending();
    if (input.empty()) return {};
    const char first = input.front();
    if ((is_noise(first) && first != '\r' && first != '\n') || static_cast<signed char>(first) < 0)
        return {Kind::not_smtp, input};
    const Line line = cut_line(input, limit);
    line_begin_ = begin_;
    begin_ += line.consumed;
    const bool bare = line.kind == Line::Kind::bare_cr || (line.kind == Line::Kind::bare_lf && !bare_newlines);
    if (line.kind == Line::Kind::none) return {};
    if (line.kind == Line::Kind::too_long) return {Kind::too_long, line.text, line.ended};
    if (std::ranges::any_of(line.text, [bare](char c) { return is_noise(c) && !(bare && c == '\r'); }))
        return {Kind::not_smtp, line.text};
    return {bare ? Kind::bare : Kind::complete, line.text};
}

ServerInput::Skipped ServerInput::skip_line() {
    const auto input = pending();
    const auto end = input.find('\n');
    const bool ended = end != input.npos;
    consume(ended ? end + 1 : input.size());
    return {std::min(end, input.size()), ended};
}

} // namespace smtp
