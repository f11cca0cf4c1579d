// The bytes received from a client and not yet used; cuts command lines off them. Knows which bytes cannot be
// SMTP; must not know commands.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace smtp {

class ServerInput {
public:
    void append(std::string_view bytes); // copied
    // Views of it are good until append(), trim(), release_if_used_up() or clear().
    std::string_view pending() const { return std::string_view(bytes_).substr(begin_); }
    std::size_t size() const { return bytes_.size() - begin_; }
    std::size_t position() const { return begin_; } // advances with use; append() resets it
    std::size_t capacity() const { return bytes_.capacity(); }

    void consume(std::size_t count) { begin_ += count; }
    void consume_all() { begin_ = bytes_.size(); }
    void clear() { // with its memory: an assignment would keep it
        std::string().swap(bytes_);
        begin_ = 0;
    }
    // Gives back the memory of used bytes.
    void trim();
    // An idle session is small.
    void release_if_used_up();

    struct CommandLine {
        enum class Kind : std::uint8_t {
            none, // not yet
            complete,
            too_long,
            bare,     // it has a bare CR or LF
            not_smtp, // it has bytes that no command has; not a whole line if it begins with one
        };
        Kind kind = Kind::none;
        std::string_view text; // without its end
        bool ended = true;     // too_long: its end was there, too
    };
    // The next line, used up but for not_smtp. `limit` counts its end; `bare_newlines`: a bare LF ends it as
    // well.
    CommandLine next_command(std::size_t limit, bool bare_newlines);
    // The last line of next_command() is returned once more.
    void put_back() { begin_ = line_begin_; }

    struct Skipped {
        std::size_t bytes = 0;
        bool ended = false; // the line's end was there
    };
    // Throws away the rest of a line, as much as there is of it.
    Skipped skip_line();

private:
    std::string bytes_;
    std::size_t begin_ = 0, line_begin_ = 0; // of the unused bytes; of the last line
};

} // namespace smtp
