// The header block of a complete message in memory: find, read, remove and add fields. Accepts
// LF and CRLF and writes CRLF. Not for streaming (see header_scan.h); does not interpret fields.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smtp {

// Views into the text the field was found in; they live as long as that text.
struct HeaderField {
    std::string_view raw;   // the whole field with all its line ends
    std::string_view name;  // "Subject", as written
    std::string_view value; // what follows the colon, still folded, without the last line end

    bool is(std::string_view other) const; // field names do not know case
    std::string unfolded() const;          // line ends taken out, blanks at both ends stripped
};

enum class HeaderEnd : std::uint8_t {
    blank_line,  // as it should be
    not_a_field, // a line that is no field: the body starts with it
    end_of_text, // header only
};

struct HeaderBlock {
    std::vector<HeaderField> fields;
    std::size_t length = 0; // bytes of the fields
    std::size_t body = 0;   // where the body starts, after the blank line if there is one
    HeaderEnd end = HeaderEnd::end_of_text;
};

// The fields at the start of `message`, in order.
HeaderBlock scan_header(std::string_view message);

// The one line at the start of `text`, with its line end (LF or CRLF); all of it when there is none.
std::string_view first_line(std::string_view text);

// A header being changed: fields in order, each "Name: value CRLF", folded as they came.
class Header {
public:
    Header() = default;
    explicit Header(const HeaderBlock& block);

    bool has(std::string_view name) const;
    std::size_t count(std::string_view name) const;
    // Unfolded value of the first field of that name; empty if there is none.
    std::string value(std::string_view name) const;
    // How many fields went.
    std::size_t remove(std::string_view name);
    // A line end in a value stays only where it folds (a blank follows), so that no value can start a field.
    void prepend(std::string_view name, std::string_view value);
    void append(std::string_view name, std::string_view value);
    std::size_t size() const { return fields_.size(); }
    std::string_view name(std::size_t i) const;
    // Still folded, without the final CRLF.
    std::string_view raw_value(std::size_t i) const;
    void replace(std::size_t i, std::string_view value);

    // All fields; no blank line.
    std::string text() const;

private:
    struct Field {
        std::string text; // "Name: value\r\n"
        std::size_t name_length = 0;
    };
    static Field make(std::string_view name, std::string_view value);
    std::vector<Field> fields_;
};

} // namespace smtp
