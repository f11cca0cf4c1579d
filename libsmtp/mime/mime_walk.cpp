#include "libsmtp/mime/mime_walk.h"
#include "libsmtp/text/text.h"
#include <algorithm>

namespace smtp {
namespace {

constexpr std::size_t value_limit = 16 * 1024; // of the fields that are read
constexpr std::size_t boundary_limit = 200;    // RFC 2046, 5.1.1 says 70

// The bytes allowed in a field name (RFC 5322, 2.2), up to its colon; "" if this line starts no field.
std::string_view field_name(std::string_view line) {
    std::size_t n = 0;
    while (n < line.size() && line[n] > ' ' && line[n] < 0x7f && line[n] != ':') ++n;
    auto rest = line.substr(n);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size())); // obsolete, but accepted everywhere
    return n > 0 && rest.starts_with(':') ? line.substr(0, n) : std::string_view();
}

} // namespace

MimeWalk::MimeWalk(Visitor& visitor) : visitor_(visitor) { begin_entity(true, false); }

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
    if (piece.begins_line && (piece.ends_line || piece.text.size() < piece_limit))
        if (const auto found = delimiter(piece.text)) {
            leave_entity(true);
            open_.resize(found->level + 1); // an outer one ends all that is inside (RFC 2046, 5.1.2)
            messages_ = open_.back().messages;
            visitor_.between(piece, true);
            if (found->closes)
                open_.pop_back();
            else
                begin_entity(false, open_.back().digest);
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
        if (!line.starts_with(open_[level].boundary)) continue;
        const auto rest = line.substr(open_[level].boundary.size());
        if (rest.empty() || rest == "--") return Delimiter{level, !rest.empty()};
    }
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
    if (value && value->size() <= value_limit) {
        const bool named = piece.begins_line && !folded;
        value->append(named ? piece.text.substr(piece.text.find(':') + 1) : piece.text);
    }
    visitor_.header(piece, field_);
}

void MimeWalk::name_field(std::string_view name) {
    field_ = Field::other;
    if (same_ignoring_case(name, "Content-Type")) {
        field_ = Field::content_type;
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
    std::string boundary;
    bool digest = false;
    judge(fault, boundary, digest);
    visitor_.header_ends(entity_, blank_line);
    place_ = Place::body;
    if (entity_.kind == MimeEntity::Kind::multipart) {
        open_.push_back({std::move(boundary), digest, messages_});
        place_ = Place::between;
    } else if (entity_.kind == MimeEntity::Kind::message) {
        ++messages_;
        place_ = Place::between;
        if (blank_line) begin_entity(true, false);
    }
}

// Determines the entity's kind from its header.
void MimeWalk::judge(std::string_view fault, std::string& boundary, bool& digest) {
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
    boundary = std::move(type->boundary);
    digest = type->subtype == "digest";
}

} // namespace smtp
