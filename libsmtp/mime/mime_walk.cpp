#include "libsmtp/mime/mime_walk.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <utility>

namespace smtp {
namespace {

constexpr std::size_t value_limit = 16 * 1024; // of the fields that are read
constexpr std::size_t boundary_limit = 200;    // RFC 2046, 5.1.1 says 70
// For inspection, where what is longer cannot be examined.
constexpr std::size_t inspected_value = 64 * 1024, inspected_boundary = 998, inspected_depth = 100;
constexpr std::size_t inspected_types = 10; // fields

// The bytes allowed in a field name (RFC 5322, 2.2), up to its colon; "" if this line starts no field.
std::string_view field_name(std::string_view line) {
    std::size_t n = 0;
    while (n < line.size() && line[n] > ' ' && line[n] < 0x7f && line[n] != ':') ++n;
    auto rest = line.substr(n);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size())); // obsolete, but accepted everywhere
    return n > 0 && rest.starts_with(':') ? line.substr(0, n) : std::string_view();
}

// Could this value, which is invalid, be one with a structure?
bool perhaps_several(std::string_view value) {
    value.remove_prefix(std::min(value.find_first_not_of(" \t\r\n"), value.size()));
    return value.starts_with('(') || same_ignoring_case(value.substr(0, 9), "multipart") ||
           same_ignoring_case(value.substr(0, 7), "message");
}

} // namespace

MimeWalk::MimeWalk(Visitor& visitor, Purpose purpose) : visitor_(visitor), purpose_(purpose) {
    begin_entity(true, false);
}

void MimeWalk::feed(std::string_view content) {
    while (!content.empty()) {
        const auto end = content.find('\n');
        const auto size = std::min({end == content.npos ? content.size() : end + 1, piece_limit + 2 - line_.size()});
        line_ += content.substr(0, size);
        content.remove_prefix(size);
        const bool begins = !line_continues_;
        if (line_.back() == '\n') {
            line_.pop_back();
            if (line_.ends_with('\r')) line_.pop_back();
            line_continues_ = false;
            take({line_, begins, true});
            line_.clear();
        } else if (line_.size() == piece_limit + 2) { // the piece, and what might have been its CRLF
            line_continues_ = true;
            take({std::string_view(line_).substr(0, piece_limit), begins, false});
            line_.erase(0, piece_limit);
        }
    }
}

void MimeWalk::finish() {
    if (!line_.empty() || line_continues_) take({line_, !line_continues_, false});
    line_.clear();
    leave_entity(false);
}

void MimeWalk::take(const LinePiece& piece) {
    if (delimiter_goes_on_ && !piece.begins_line) return visitor_.between(piece, true);
    delimiter_goes_on_ = false;
    const bool whole = piece.ends_line || piece.text.size() < piece_limit;
    if (piece.begins_line && (whole || inspects()))
        if (const auto found = inspects() ? likely_delimiter(piece.text) : delimiter(piece.text)) {
            delimiter_goes_on_ = !piece.ends_line;
            leave_entity(true);
            open_.resize(found->level + 1); // an outer one ends all that is inside (RFC 2046, 5.1.2)
            messages_ = open_.back().messages;
            visitor_.between(piece, true);
            if (!found->closes)
                begin_entity(false, open_.back().digest);
            else if (!inspects()) // some programs take parts that follow the last one
                open_.pop_back();
            return;
        }
    switch (place_) {
    case Place::header: return header_line(piece);
    case Place::body: return visitor_.body(piece);
    case Place::between: return visitor_.between(piece, false);
    }
}

std::optional<MimeWalk::Delimiter> MimeWalk::delimiter(std::string_view line) const {
    if (!line.starts_with("--")) return std::nullopt;
    line.remove_prefix(2);
    line = line.substr(0, line.find_last_not_of(" \t") + 1);
    for (auto level = open_.size(); level-- > 0;) {
        for (const auto& boundary : open_[level].boundaries) {
            if (!line.starts_with(boundary)) continue;
            const auto rest = line.substr(boundary.size());
            if (rest.empty() || rest == "--") return Delimiter{level, !rest.empty()};
        }
    }
    return std::nullopt;
}

// RFC 2046, 5.1.1: more may follow the boundary, and some programs take such a line.
std::optional<MimeWalk::Delimiter> MimeWalk::likely_delimiter(std::string_view line) const {
    if (!line.starts_with("--")) return std::nullopt;
    if (auto found = delimiter(line)) return found;
    line.remove_prefix(2);
    for (auto level = open_.size(); level-- > 0;)
        for (const auto& boundary : open_[level].boundaries)
            if (line.starts_with(boundary)) return Delimiter{level, false};
    return std::nullopt;
}

void MimeWalk::leave_entity(bool at_delimiter) {
    if (place_ == Place::header) end_header(false, "");
    if (place_ == Place::body) visitor_.body_ends(at_delimiter);
    place_ = Place::between;
}

// --- headers
// --------------------------------------------------------------------------------------------------

void MimeWalk::begin_entity(bool is_message, bool in_digest) {
    entity_ = {};
    entity_.is_message = is_message;
    in_digest_ = in_digest;
    first_line_ = true;
    field_ = Field::other;
    content_type_.clear();
    earlier_types_.clear();
    transfer_encoding_.clear();
    content_types_ = transfer_encodings_ = 0;
    place_ = Place::header;
    visitor_.entity_begins();
}

void MimeWalk::header_line(const LinePiece& piece) {
    if (piece.begins_line && piece.text.empty()) return end_header(true, "");
    const bool folded = piece.text.starts_with(' ') || piece.text.starts_with('\t');
    if (piece.begins_line && !(folded && !first_line_)) {
        const auto name = field_name(piece.text);
        if (name.empty() && inspects()) {
            field_ = Field::none;
            first_line_ = false;
            return visitor_.header(piece, field_);
        }
        if (name.empty()) {
            end_header(false, "has a header that does not end with an empty line");
            return visitor_.body(piece);
        }
        name_field(name);
    }
    first_line_ = false;
    auto* value = field_ == Field::content_type        ? &content_type_
                  : field_ == Field::transfer_encoding ? &transfer_encoding_
                                                       : nullptr;
    if (value && value->size() <= (inspects() ? inspected_value : value_limit)) {
        const bool named = piece.begins_line && !folded;
        value->append(named ? piece.text.substr(piece.text.find(':') + 1) : piece.text);
    }
    visitor_.header(piece, field_);
}

void MimeWalk::name_field(std::string_view name) {
    field_ = Field::other;
    if (same_ignoring_case(name, "Content-Type")) {
        field_ = Field::content_type;
        if (inspects() && entity_.has_content_type && earlier_types_.size() < inspected_types)
            earlier_types_.push_back(std::exchange(content_type_, {}));
        content_types_ = static_cast<std::uint8_t>(std::min(content_types_ + 1, 2));
        entity_.has_content_type = true;
    } else if (same_ignoring_case(name, "Content-Transfer-Encoding")) {
        field_ = Field::transfer_encoding;
        transfer_encodings_ = static_cast<std::uint8_t>(std::min(transfer_encodings_ + 1, 2));
    } else if (same_ignoring_case(name, "MIME-Version")) {
        field_ = Field::mime_version;
        entity_.has_mime_version = true;
    }
}

void MimeWalk::end_header(bool blank_line, std::string_view fault) {
    Multipart opened;
    opened.messages = messages_;
    if (inspects())
        judge_for_inspection(opened);
    else
        judge(fault, opened);
    visitor_.header_ends(entity_, blank_line);
    place_ = Place::body;
    if (entity_.kind == MimeEntity::Kind::multipart) {
        open_.push_back(std::move(opened));
        place_ = Place::between;
    } else if (entity_.kind == MimeEntity::Kind::message) {
        ++messages_;
        place_ = Place::between;
        if (blank_line) begin_entity(true, false);
    }
}

// Determines the entity's kind from its header.
void MimeWalk::judge(std::string_view fault, Multipart& opened) {
    using Kind = MimeEntity::Kind;
    const auto close = [&](std::string_view why) {
        entity_.kind = Kind::opaque;
        entity_.why = why;
    };
    entity_.encoding = parse_transfer_encoding(transfer_encoding_);
    auto type = entity_.has_content_type ? parse_content_type(content_type_)
                : in_digest_             ? ContentType{"message", "rfc822", ""}
                                         : ContentType{};
    if (!type || content_type_.size() > value_limit) {
        entity_.text = false;
        return close("has an invalid Content-Type");
    }
    entity_.text = type->type == "text";
    const bool several = type->type == "multipart", message = type->is("message", "rfc822");
    if (!fault.empty()) return close(fault);
    if (content_types_ > 1 || transfer_encodings_ > 1)
        return close("has a duplicate field (Content-Type or Content-Transfer-Encoding)");
    if (entity_.encoding == TransferEncoding::unknown) return close("has an unknown Content-Transfer-Encoding");
    if (entity_.encoding == TransferEncoding::quoted_printable || entity_.encoding == TransferEncoding::base64)
        return close("is marked as encoded already (Content-Transfer-Encoding)");
    if (type->is("multipart", "signed")) return close("is signed; any change would break the signature");
    if (type->is("multipart", "encrypted")) return close("is encrypted (multipart/encrypted)");
    if (type->type == "message" && !message && !type->subtype.starts_with("global"))
        return close("is of a type that must not be encoded (message/...)");
    if (!several && !message) return;
    if (open_.size() + messages_ >= depth_limit) return close("is nested too deeply");
    if (message) {
        entity_.kind = Kind::message;
        return;
    }
    if (type->boundary.empty() || type->boundary.size() > boundary_limit)
        return close("is multipart without a boundary");
    entity_.kind = Kind::multipart;
    opened.boundaries.push_back(std::move(type->boundary));
    opened.digest = type->subtype == "digest";
}

// Mail programs neither mind encodings and signatures here, nor agree on what counts if there are several types.
void MimeWalk::judge_for_inspection(Multipart& opened) {
    using Kind = MimeEntity::Kind;
    std::string_view limit;
    bool message = in_digest_ && !entity_.has_content_type, several = false;
    earlier_types_.push_back(std::move(content_type_));
    if (!entity_.has_content_type) earlier_types_.clear();
    entity_.encoding = parse_transfer_encoding(transfer_encoding_);
    if (earlier_types_.size() > inspected_types) limit = "has too many Content-Type fields";
    for (const auto& value : earlier_types_) {
        const auto type = parse_content_type(value);
        entity_.text = type && type->type == "text";
        if (value.size() > inspected_value) limit = "has a Content-Type that is too long";
        if (!type) {
            if (perhaps_several(value)) limit = "has an invalid Content-Type";
            continue;
        }
        message = message || (type->type == "message" &&
                              (type->subtype == "rfc822" || type->subtype == "news" || type->subtype == "global" ||
                               type->subtype == "partial" || type->subtype == "external-body"));
        if (type->type != "multipart") continue;
        several = true;
        opened.digest = opened.digest || type->subtype == "digest";
        if (type->boundary.empty())
            limit = "is multipart without a boundary";
        else if (type->boundary.size() > inspected_boundary)
            limit = "has a boundary that is too long";
        else
            opened.boundaries.push_back(type->boundary);
    }
    if (message && several) limit = "is a message and has several parts";
    if ((message || several) && open_.size() + messages_ >= inspected_depth) limit = "is nested too deeply";
    if (!limit.empty()) {
        entity_.kind = Kind::opaque;
        entity_.why = limit;
    } else if (several) {
        entity_.kind = Kind::multipart;
    } else if (message) {
        entity_.kind = Kind::message;
    }
}

} // namespace smtp
