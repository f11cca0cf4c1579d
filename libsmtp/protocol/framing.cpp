#include "libsmtp/protocol/framing.h"
#include <algorithm>
#include <cstring>
#include <utility>

namespace smtp {

static std::size_t find_byte(std::string_view text, char byte, std::size_t from, std::size_t to) {
    if (from >= to) return text.npos;
    const void* hit = std::memchr(text.data() + from, byte, to - from);
    return hit ? static_cast<std::size_t>(static_cast<const char*>(hit) - text.data()) : text.npos;
}

Line cut_line(std::string_view buffer, std::size_t limit) {
    const auto lf = find_byte(buffer, '\n', 0, buffer.size());
    const bool ended = lf != buffer.npos;
    if (ended ? lf + 1 > limit : buffer.size() >= limit) {
        const auto consumed = ended ? lf + 1 : buffer.size();
        return {Line::Kind::too_long, buffer.substr(0, limit), consumed, ended};
    }
    if (!ended) return {};
    const auto cr = find_byte(buffer, '\r', 0, lf);
    if (cr == buffer.npos) return {Line::Kind::bare_lf, buffer.substr(0, lf), lf + 1};
    return {cr + 1 == lf ? Line::Kind::complete : Line::Kind::bare_cr, buffer.substr(0, lf - (buffer[lf - 1] == '\r')),
            lf + 1};
}

DataDecoder::Step DataDecoder::decode(std::string_view input) {
    std::size_t at = 0; // bytes of dots and CRs held back from an earlier piece, not output yet
    while (true) {
        if (at == input.size()) return {{}, at};
        const char c = input[at];
        switch (state_) {
        case State::start:
        case State::bare_start:
        case State::text: break;
        case State::cr:
            if (c == '\n') {
                state_ = State::start;
                return {"\r\n", at + 1};
            }
            bare_ = true; // the CR was alone; c comes next
            state_ = State::bare_start;
            return {"\r\n", at};
        case State::dot:
            if (c == '\r') {
                state_ = State::dot_cr;
                ++at;
                continue;
            }
            if (c == '\n' && ending_ == Ending::dot_lf) {
                state_ = State::start;
                return {{}, at + 1, true};
            }
            if (c == '\n') return lone_dot(State::bare_start, at + 1);
            state_ = State::text;
            if (ending_ == Ending::length) return {".", at};
            continue; // the dot was stuffed
        case State::dot_cr:
            if (c == '\n') {
                state_ = State::start;
                if (ending_ == Ending::length) return {".\r\n", at + 1};
                return {{}, at + 1, true};
            }
            return lone_dot(State::bare_start, at);
        case State::bare_dot:
            if (c == '\r') {
                state_ = State::bare_dot_cr;
                ++at;
                continue;
            }
            if (c == '\n') return lone_dot(State::bare_start, at + 1);
            state_ = State::text; // after a bare line break, dots are not stuffed
            return {".", at};
        case State::bare_dot_cr:
            if (c == '\n') return lone_dot(State::start, at + 1);
            return lone_dot(State::bare_start, at);
        }
        auto step = decode_lines(input, at);
        if (!step.run.empty()) return step;
        at = step.consumed; // only a dot or a CR was held back
    }
}

std::string_view DataDecoder::finish() {
    const auto state = std::exchange(state_, State::start);
    switch (state) {
    case State::start:
    case State::bare_start: return {};
    case State::text: return "\r\n";
    case State::cr: bare_ = true; return "\r\n";
    case State::dot: return ".\r\n";
    default: bare_ = lone_dot_ = true; return ".\r\n";
    }
}

DataDecoder::Step DataDecoder::lone_dot(State next, std::size_t consumed) {
    bare_ = lone_dot_ = true;
    state_ = next;
    return {".\r\n", consumed};
}

// From `from`, at the start or in the middle of a line with nothing held back: the longest run of input that needs no
// decoding.
DataDecoder::Step DataDecoder::decode_lines(std::string_view input, std::size_t from) {
    std::size_t at = from;
    while (at < input.size()) {
        if (state_ != State::text && input[at] == '.') {
            state_ = state_ == State::start ? State::dot : State::bare_dot;
            return {input.substr(from, at - from), at + 1};
        }
        // Scanned in windows: lines that end in nothing but CR, or LF, must not make this quadratic.
        const auto window = std::min(input.size(), at + 256);
        const auto cr = find_byte(input, '\r', at, window);
        const auto line_end = cr == input.npos ? window : cr;
        if (const auto lf = find_byte(input, '\n', at, line_end); lf != input.npos) {
            if (lf > from) {
                state_ = State::text;
                return {input.substr(from, lf - from), lf};
            }
            bare_ = true;
            state_ = ending_ == Ending::dot_lf ? State::start : State::bare_start;
            return {"\r\n", lf + 1};
        }
        if (cr == input.npos) {
            state_ = State::text;
            at = window;
            continue;
        }
        if (cr + 1 == input.size() || input[cr + 1] != '\n') {
            state_ = State::cr;
            return {input.substr(from, cr - from), cr + 1};
        }
        at = cr + 2;
        state_ = State::start;
    }
    return {input.substr(from), input.size()};
}

} // namespace smtp
