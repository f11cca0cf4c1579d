// How SMTP's bytes are cut: command lines end in CRLF, content ends in CRLF.CRLF, and in nothing else. One
// codec for server, client, LMTP and filters, so that no two parts of the system can disagree where a message
// ends. Knows bytes only; hands out views of the input, copies nothing.
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
        bare,     // ended by a bare LF, or holds a bare CR
        too_long, // longer than the limit (whether or not its end is there): skip to the next LF
    };
    Kind kind = Kind::none;
    std::string_view text;     // complete and bare: without its end
    std::size_t consumed = 0;  // bytes of the buffer the line took; 0 for none
    bool bare_lf_only = false; // bare: the only fault is the missing CR at the end (some may be allowed that)
};

// `limit` counts the CRLF. A too_long line has consumed what is there up to and including the next LF;
// `ended` tells whether that LF was there.
struct CutLine : Line {
    bool ended = true;
};
CutLine cut_line(std::string_view buffer, std::size_t limit);

// Content as it comes after 354: undoes dot-stuffing, turns a bare CR or LF into CRLF, finds the end. A lone
// dot next to a bare CR or LF (an attempt to smuggle, or a broken sender) never ends the message; it is
// remembered.
class DataDecoder {
public:
    // The next run of decoded content: a view of `input` (or of a constant), and how many bytes of the input
    // are done with. Call again with the rest until `consumed` is 0 and `run` is empty, or `end` is true. A
    // run is as long as it can be: it breaks only where bytes are left out or put in.
    struct Step {
        std::string_view run;
        std::size_t consumed = 0;
        bool end = false; // CRLF.CRLF was found; the input after `consumed` is the next command
    };
    Step decode(std::string_view input);

    bool bare_line_break() const { return bare_; }  // a bare CR or LF was normalised
    bool smuggled_dot() const { return lone_dot_; } // a lone dot stood next to a bare CR or LF
    void reset() { *this = {}; }

private:
    enum class State : std::uint8_t {
        start,      // after CRLF (or at the beginning)
        bare_start, // after a bare CR or LF
        text,       // inside a line
        cr,         // inside a line, a CR was held back
        start_cr,   // an empty line so far and a CR held back; the line began after CRLF
        dot,        // after CRLF and a dot, held back
        dot_cr,     // the same and a CR
        bare_dot,   // after a bare line break and a dot, held back
        bare_dot_cr,
    };
    State state_ = State::start;
    bool bare_ = false, lone_dot_ = false;
};

} // namespace smtp
