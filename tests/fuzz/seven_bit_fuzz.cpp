// Any content: the survey and the conversion do the same however it is cut; what the survey lets through leaves
// without an 8-bit byte, and a second conversion finds nothing to do. The walk for inspection reports all of it, and
// the same however it is cut.
#include "libsmtp/dkim/dkim.h"
#include "libsmtp/mime/seven_bit.h"
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace {

smtp::SevenBitPlan survey(std::string_view content, std::size_t step) {
    smtp::SevenBitSurvey survey;
    for (std::size_t at = 0; at < content.size(); at += step) survey.feed(content.substr(at, step));
    return survey.finish();
}

std::string convert(std::string_view content, const smtp::SevenBitPlan& plan, std::size_t step) {
    smtp::SevenBitConversion conversion(plan);
    std::string out;
    for (std::size_t at = 0; at < content.size(); at += step) conversion.feed(content.substr(at, step), out);
    conversion.finish(out);
    return out;
}

std::string canonical(std::string_view content, std::size_t step) {
    std::string body;
    smtp::dkim::SplitMessage split([&](std::string_view bytes) { body += bytes; });
    for (std::size_t at = 0; at < content.size(); at += step) split.feed(content.substr(at, step));
    split.finish();
    return split.header() + body;
}

class Inspection final : smtp::MimeWalk::Visitor {
public:
    Inspection(std::string_view content, std::size_t step) {
        for (std::size_t at = 0; at < content.size(); at += step) walk_.feed(content.substr(at, step));
        walk_.finish();
    }
    std::string lines, calls;

private:
    void take(char call, const smtp::LinePiece& piece) {
        calls += call;
        lines += piece.text;
        if (piece.ends_line) lines += '\n';
    }
    void entity_begins() override { calls += 'e'; }
    void header(const smtp::LinePiece& piece, smtp::MimeWalk::Field field) override {
        take(static_cast<char>('0' + static_cast<int>(field)), piece);
    }
    void header_ends(const smtp::MimeEntity& entity, bool blank_line) override {
        calls += static_cast<char>('A' + static_cast<int>(entity.kind));
        if (blank_line) lines += '\n';
    }
    void body(const smtp::LinePiece& piece) override { take('b', piece); }
    void body_ends(bool) override { calls += '.'; }
    void between(const smtp::LinePiece& piece, bool delimiter) override { take(delimiter ? '-' : ' ', piece); }
    smtp::MimeWalk walk_{*this, smtp::MimeWalk::Purpose::inspection};
};

// With LF as the only line end.
std::string with_lf(std::string_view content) {
    std::string out;
    for (std::size_t at = 0; at < content.size(); ++at)
        if (!content.substr(at).starts_with("\r\n")) out += content[at];
    return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view content(reinterpret_cast<const char*>(data), size);
    assert(canonical(content, size + 1) == canonical(content, 3));
    const Inspection inspection(content, size + 1), inspection_in_threes(content, 3);
    assert(inspection.calls == inspection_in_threes.calls && inspection.lines == inspection_in_threes.lines);
    assert(inspection.lines == with_lf(content));
    const auto plan = survey(content, size + 1), in_sevens = survey(content, 7);
    assert(plan.problem == in_sevens.problem && plan.parts.size() == in_sevens.parts.size());
    if (!plan.problem.empty()) return 0;
    const auto out = convert(content, plan, size + 1);
    assert(out == convert(content, plan, 7));
    assert(std::ranges::none_of(out, [](char c) { return (c & 0x80) != 0; }));
    const auto again = survey(out, out.size() + 1);
    assert(again.problem.empty() && again.parts.size() == plan.parts.size());
    assert(convert(out, again, out.size() + 1) == out);
    return 0;
}
