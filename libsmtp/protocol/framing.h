// How SMTP's bytes are split: command lines end in CRLF, content ends in CRLF.CRLF, and
// in nothing else, except for clients that are trusted with a bare LF. One codec for
// server, client, LMTP and filters, so that no two parts of the system can disagree
// where a message ends. Knows bytes only; returns views of the input, copies nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace smtp {

// One line cut off the front of a buffer.
struct Line {
    enum class Kind : std::uint8_t {
        none,     // no whole line yet
        complete, // ended by CRLF, no other CR or LF in it
        bare_lf,  // its only fault is the missing CR at its end (allowed for some clients)
        bare_cr,  // a CR inside
        too_long, // longer than the limit: everything received of it is consumed
    };
    Kind kind = Kind::none;
    std::string_view text;    // without its end
    std::size_t consumed = 0; // bytes of the buffer that the line takes; 0 for none
    bool ended = true;        // too_long: its LF was received; otherwise skip to the next one
};
// `limit` includes the line end.
Line cut_line(std::string_view buffer, std::size_t limit);

// Decodes content that follows 354 or BDAT: undoes dot-stuffing (354 only), turns a bare CR or LF into CRLF, finds the
// end. A lone dot next to a bare CR or LF (an attempt to smuggle, or a broken sender) never ends the message; it is
// recorded.
class DataDecoder {
public:
    enum class Ending : std::uint8_t {
        dot,    // CRLF.CRLF
        dot_lf, // that, or LF.LF: never for relayed content, which could end its message early
        length, // known in advance (BDAT): dots are content
    };
    // The next run of decoded content: a view of `input` (or of a constant), and how many bytes of the input are
    // consumed. Call again with the rest until `consumed` is 0 and `run` is empty, or `end` is true. A run is as long
    // as possible: it breaks only where bytes are left out or inserted.
    struct Step {
        std::string_view run;
        std::size_t consumed = 0;
        bool end = false; // CRLF.CRLF was found; the input after `consumed` is the next command
    };
    Step decode(std::string_view input);

    bool bare_line_break() const { return bare_; }  // a bare CR or LF was normalised
    bool smuggled_dot() const { return lone_dot_; } // a lone dot next to a bare CR or LF
    // Ending::length: what was still held back, and the end of the last line if it had none.
    std::string_view finish();
    void reset(Ending ending = Ending::dot) {
        *this = {};
        ending_ = ending;
    }

private:
    enum class State : std::uint8_t {
        start,      // after CRLF (or at the beginning)
        bare_start, // after a bare CR or LF
        text,       // inside a line
        cr,         // inside a line or at its start, a CR was held back
        dot,        // after CRLF and a dot, held back
        dot_cr,     // the same and a CR
        bare_dot,   // after a bare line break and a dot, held back
        bare_dot_cr,
    };
    Step lone_dot(State next, std::size_t consumed);
    Step decode_lines(std::string_view input, std::size_t from);

    State state_ = State::start;
    Ending ending_ = Ending::dot;
    bool bare_ = false, lone_dot_ = false;
};

} // namespace smtp
