// 8-bit content for a server without 8BITMIME (RFC 6152, 3): every part with 8-bit bytes is
// encoded as quoted-printable or base64 and its header is adapted; the rest is unchanged. Content
// is read twice: a survey finds what each part needs, the conversion does it. Both take chunks of
// any size and the result does not depend on them; memory is bounded; nothing is ever dropped.
#pragma once
#include "libsmtp/mime/body_encoder.h"
#include "libsmtp/mime/mime_walk.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smtp {

// What becomes of each part, in the order of their headers.
struct SevenBitPlan {
    enum class Treatment : std::uint8_t { keep, relabel, quoted_printable, base64 };
    struct Part {
        Treatment treatment = Treatment::keep;
        bool utf8 = false; // to be encoded, and well-formed UTF-8
    };
    static constexpr std::size_t part_limit = 10'000;
    std::vector<Part> parts;
    std::string problem; // not "": why this content cannot be converted, in a few words
};

class SevenBitSurvey final : MimeWalk::Visitor {
public:
    void feed(std::string_view content) { walk_.feed(content); }
    // After the last chunk, once.
    SevenBitPlan finish();

private:
    void entity_begins() override;
    void header(const LinePiece& piece, MimeWalk::Field field) override;
    void header_ends(const MimeEntity& entity, bool blank_line) override;
    void body(const LinePiece& piece) override;
    void body_ends(bool at_delimiter) override;
    void between(const LinePiece& piece, bool delimiter) override;
    void problem(std::string text);
    void look_at_utf8(std::string_view text);

    SevenBitPlan plan_;
    MimeEntity entity_;
    // Of the body at hand:
    std::uint64_t bytes_ = 0, escaped_ = 0, line_length_ = 0;
    bool unfit_ = false; // for lines of seven bits
    bool utf8_ = true;
    std::string character_; // begun, and continued in the next piece
    MimeWalk walk_{*this};
};

class SevenBitConversion final : MimeWalk::Visitor {
public:
    // Of the same content, without a problem.
    explicit SevenBitConversion(const SevenBitPlan& plan) : plan_(plan) {}

    // Appends what is sent instead.
    void feed(std::string_view content, std::string& out);
    void finish(std::string& out);

private:
    void entity_begins() override;
    void header(const LinePiece& piece, MimeWalk::Field field) override;
    void header_ends(const MimeEntity& entity, bool blank_line) override;
    void body(const LinePiece& piece) override;
    void body_ends(bool at_delimiter) override;
    void between(const LinePiece& piece, bool delimiter) override;
    void put(const LinePiece& piece);
    void put_encoding();

    const SevenBitPlan& plan_;
    std::string* out_ = nullptr; // while feed() or finish() runs
    std::size_t next_ = 0;       // part to come
    SevenBitPlan::Part part_;
    bool labelled_ = false; // its encoding is written
    std::optional<BodyEncoder> encoder_;
    MimeWalk walk_{*this};
};

} // namespace smtp
