#include "libsmtp/mime/seven_bit.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace smtp {
namespace {

using Treatment = SevenBitPlan::Treatment;
using Kind = MimeEntity::Kind;
constexpr std::uint64_t line_limit = 998; // RFC 5321, 4.5.3.1.6

bool says_more_than_seven(TransferEncoding encoding) {
    return encoding == TransferEncoding::eight_bit || encoding == TransferEncoding::binary;
}

} // namespace

// --- the survey
// -----------------------------------------------------------------------------------------------

SevenBitPlan SevenBitSurvey::finish() {
    walk_.finish();
    return std::move(plan_);
}

void SevenBitSurvey::problem(std::string text) {
    if (plan_.problem.empty()) plan_.problem = std::move(text);
}

void SevenBitSurvey::entity_begins() {
    if (plan_.parts.size() < SevenBitPlan::part_limit)
        plan_.parts.emplace_back();
    else
        problem(fmt::format("more than {} parts", SevenBitPlan::part_limit));
}

void SevenBitSurvey::header(const LinePiece& piece, MimeWalk::Field) {
    if (!is_ascii(piece.text)) problem("8-bit bytes in a header field");
}

void SevenBitSurvey::header_ends(const MimeEntity& entity, bool) {
    entity_ = entity;
    bytes_ = escaped_ = line_length_ = 0;
    unfit_ = false;
    utf8_ = true;
    character_.clear();
    // The label of an entity that only holds other parts follows from theirs.
    if ((entity.kind == Kind::multipart || entity.kind == Kind::message) && says_more_than_seven(entity.encoding))
        plan_.parts.back().treatment = Treatment::relabel;
}

void SevenBitSurvey::body(const LinePiece& piece) {
    if (entity_.kind == Kind::opaque) {
        if (!is_ascii(piece.text)) problem(fmt::format("8-bit bytes in a part that {}", entity_.why));
        return;
    }
    bytes_ += piece.text.size();
    escaped_ += static_cast<std::uint64_t>(std::ranges::count_if(piece.text, BodyEncoder::escaped));
    line_length_ = (piece.begins_line ? 0 : line_length_) + piece.text.size();
    unfit_ = unfit_ || line_length_ > line_limit ||
             std::ranges::any_of(piece.text, [](char c) { return c == '\0' || c == '\r' || (c & 0x80) != 0; });
    look_at_utf8(piece.text);
}

void SevenBitSurvey::look_at_utf8(std::string_view text) {
    if (!utf8_ || (character_.empty() && is_ascii(text))) return;
    character_ += text;
    std::string_view rest = character_;
    while (!rest.empty()) {
        const auto length = utf8_length(rest);
        if (length == 0) break;
        rest.remove_prefix(length);
    }
    utf8_ = rest.size() < 4; // else no further byte could make a character of it
    character_.erase(0, character_.size() - rest.size());
}

void SevenBitSurvey::body_ends(bool) {
    if (entity_.kind == Kind::opaque) return;
    auto& part = plan_.parts.back();
    if (unfit_) {
        // Text stays legible while it is mostly ASCII; for everything else the shorter encoding is used.
        // Quoted-printable makes three bytes of one, base64 four of three.
        const bool quoted = entity_.text ? escaped_ * 2 <= bytes_ : escaped_ * 6 <= bytes_;
        part.treatment = quoted ? Treatment::quoted_printable : Treatment::base64;
        part.utf8 = utf8_ && character_.empty();
    } else if (says_more_than_seven(entity_.encoding)) {
        part.treatment = Treatment::relabel;
    }
}

void SevenBitSurvey::between(const LinePiece& piece, bool) {
    if (!is_ascii(piece.text)) problem("8-bit bytes outside of its parts");
}

// --- the conversion
// -------------------------------------------------------------------------------------------

void SevenBitConversion::feed(std::string_view content, std::string& out) {
    out_ = &out;
    walk_.feed(content);
}

void SevenBitConversion::finish(std::string& out) {
    out_ = &out;
    walk_.finish();
}

void SevenBitConversion::entity_begins() {
    part_ = next_ < plan_.parts.size() ? plan_.parts[next_] : SevenBitPlan::Part{};
    ++next_;
    labelled_ = false;
    encoder_.reset();
}

void SevenBitConversion::header(const LinePiece& piece, MimeWalk::Field field) {
    if (part_.treatment == Treatment::keep || field != MimeWalk::Field::transfer_encoding) return put(piece);
    put_encoding();
}

void SevenBitConversion::put_encoding() {
    if (std::exchange(labelled_, true)) return;
    *out_ +=
        fmt::format("Content-Transfer-Encoding: {}\r\n", part_.treatment == Treatment::relabel  ? "7bit"
                                                         : part_.treatment == Treatment::base64 ? "base64"
                                                                                                : "quoted-printable");
}

void SevenBitConversion::header_ends(const MimeEntity& entity, bool blank_line) {
    if (part_.treatment == Treatment::quoted_printable || part_.treatment == Treatment::base64) {
        if (entity.is_message && !entity.has_mime_version) *out_ += "MIME-Version: 1.0\r\n";
        if (!entity.has_content_type) // RFC 1428: the charset was not given
            *out_ += fmt::format("Content-Type: text/plain; charset={}\r\n", part_.utf8 ? "utf-8" : "unknown-8bit");
        put_encoding();
        encoder_.emplace(part_.treatment == Treatment::base64 ? BodyEncoder::Encoding::base64
                                                              : BodyEncoder::Encoding::quoted_printable);
    }
    if (blank_line) *out_ += "\r\n";
}

void SevenBitConversion::body(const LinePiece& piece) {
    if (encoder_)
        encoder_->line(piece.text, piece.ends_line, *out_);
    else
        put(piece);
}

void SevenBitConversion::body_ends(bool at_delimiter) {
    if (encoder_) encoder_->finish(at_delimiter, *out_);
    encoder_.reset();
}

void SevenBitConversion::between(const LinePiece& piece, bool) { put(piece); }

void SevenBitConversion::put(const LinePiece& piece) {
    *out_ += piece.text;
    if (piece.ends_line) *out_ += "\r\n";
}

} // namespace smtp
