// The body of one part as quoted-printable or base64 (RFC 2045, 6.7 and 6.8), line by line as it streams past.
// Knows nothing of headers and delimiters.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace smtp {

class BodyEncoder {
public:
    enum class Encoding { quoted_printable, base64 };
    explicit BodyEncoder(Encoding encoding) : encoding_(encoding) {}

    // Appends lines of at most 76 bytes, none of which begins as a delimiter does ("--"). `text`: a line without
    // its end, or a part of one.
    void line(std::string_view text, bool ends_line, std::string& out);
    // The body is over; before_delimiter: the end of its last line is not its own. What was appended then ends
    // with a line end, but for a body that was quoted-printable and did not.
    void finish(bool before_delimiter, std::string& out);

    // Whether quoted-printable has to escape this byte inside a line.
    static bool escaped(char c) { return (c < ' ' && c != '\t') || c > '~' || c == '='; }

private:
    void quote(std::string_view text, std::string& out);
    void quoted(std::string_view token, std::string& out);
    void hold(std::string_view bytes, std::string& out);
    void put_base64(std::string& out, std::size_t all);

    Encoding encoding_;
    std::size_t column_ = 0; // of the line written
    bool dash_ = false;      // that line is "-" so far
    char blank_ = 0;         // held back: the last of a line must be escaped
    bool line_end_ = false;  // base64: one that may be the delimiter's
    std::string held_;       // base64: bytes not written yet
};

} // namespace smtp
