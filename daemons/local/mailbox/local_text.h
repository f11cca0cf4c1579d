// A message's CRLF lines as mailboxes keep them: LF, and for mbox every line that starts with "From " behind
// a
// ">". Fed in pieces cut anywhere. Knows bytes only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace local {

enum class FromLines : std::uint8_t { as_they_are, quoted };

class LocalText {
public:
    explicit LocalText(FromLines from_lines) : from_lines_(from_lines) {}

    // Appends what the next bytes become; a few may be held back until more is known.
    void append(std::string_view bytes, std::string& out);
    // What was held back, and a line end if the last line has none.
    void finish(std::string& out);

private:
    void line_piece(std::string_view piece, std::string& out);
    FromLines from_lines_;
    std::string start_; // of a line that may yet become "From "
    bool at_line_start_ = true;
    bool held_cr_ = false;
};

} // namespace local
