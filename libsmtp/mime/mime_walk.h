// The MIME structure of a message (RFC 2045, 2046), found while its content streams past: headers, bodies
// and the text between them, however deep parts and messages are nested. Reports it to a visitor line by
// line, changes nothing and keeps no content: bounded memory, and the same calls regardless of chunk sizes.
// What must not be changed is one item for those who convert; those who inspect see all that a mail program might.
#pragma once
#include "libsmtp/mime/content_type.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smtp {

// A line, or a piece of an over-long one.
struct LinePiece {
    std::string_view text; // without its line end; at most MimeWalk::piece_limit bytes
    bool begins_line = true, ends_line = true;
};

// What the walk knows about a part, or about a whole message, after its header.
struct MimeEntity {
    enum class Kind : std::uint8_t {
        leaf,      // its body is a single item
        multipart, // its body consists of further parts
        message,   // its body is a message: header and body follow
        opaque,    // must be neither parsed nor changed: why says so; for inspection: could not be parsed
    };
    Kind kind = Kind::leaf;
    TransferEncoding encoding = TransferEncoding::seven_bit;
    bool text = true;              // of type text
    bool is_message = false;       // a message's header, not a part's
    bool has_content_type = false; // these fields are present
    bool has_mime_version = false;
    std::string_view why; // opaque: "is nested too deeply"
};

class MimeWalk {
public:
    static constexpr std::size_t piece_limit = 1024;
    static constexpr std::size_t depth_limit = 30; // of parts in parts and messages in messages
    enum class Field : std::uint8_t {
        other,
        mime_version,
        content_type,
        transfer_encoding,
        none, // for inspection: a line that is no field; others may follow it
    };
    enum class Purpose : std::uint8_t { conversion, inspection };

    class Visitor {
    public:
        virtual ~Visitor() = default;
        virtual void entity_begins() = 0;
        // Of the header, up to and excluding the empty line.
        virtual void header(const LinePiece& piece, Field field) = 0;
        // blank_line: there is one, as there should be.
        virtual void header_ends(const MimeEntity& entity, bool blank_line) = 0;
        // Of a leaf or opaque entity. The line end before a delimiter belongs to the delimiter.
        virtual void body(const LinePiece& piece) = 0;
        virtual void body_ends(bool at_delimiter) = 0; // of a leaf or opaque entity
        // Delimiters, and the text before the first and after the last: belongs to no part.
        virtual void between(const LinePiece& piece, bool delimiter) = 0;
    };

    // `visitor` must outlive it.
    explicit MimeWalk(Visitor& visitor, Purpose purpose = Purpose::conversion);
    MimeWalk(const MimeWalk&) = delete;
    MimeWalk& operator=(const MimeWalk&) = delete;
    void feed(std::string_view content);
    void finish();

private:
    enum class Place : std::uint8_t { header, body, between };
    struct Multipart {
        std::vector<std::string> boundaries; // for inspection several, if it is not clear which counts
        bool digest = false;
        std::size_t messages = 0; // messages it is inside of
    };

    struct Delimiter {
        std::size_t level = 0; // of open_
        bool closes = false;
    };

    bool inspects() const { return purpose_ == Purpose::inspection; }
    void take(const LinePiece& piece);
    std::optional<Delimiter> delimiter(std::string_view line) const;
    std::optional<Delimiter> likely_delimiter(std::string_view line) const;
    void leave_entity(bool at_delimiter);
    void begin_entity(bool is_message, bool in_digest);
    void header_line(const LinePiece& piece);
    void name_field(std::string_view name);
    void end_header(bool blank_line, std::string_view fault);
    void judge(std::string_view fault, Multipart& opened);
    void judge_for_inspection(Multipart& opened);

    Visitor& visitor_;
    const Purpose purpose_;
    std::string line_;               // not passed on yet
    bool line_continues_ = false;    // a part of the line has been
    bool delimiter_goes_on_ = false; // … and is a delimiter
    Place place_ = Place::header;
    std::vector<Multipart> open_; // innermost last
    std::size_t messages_ = 0;    // number of messages nested in one another, here

    MimeEntity entity_;
    bool in_digest_ = false, first_line_ = true;
    Field field_ = Field::other;
    std::string content_type_, transfer_encoding_; // values as far as read
    std::vector<std::string> earlier_types_;       // for inspection: of other fields of that name
    std::uint8_t content_types_ = 0, transfer_encodings_ = 0;
};

} // namespace smtp
