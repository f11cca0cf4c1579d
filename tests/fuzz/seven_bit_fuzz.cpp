// Any content: the survey and the conversion do the same however it is cut; what the survey lets through leaves
// without an 8-bit byte, and a second conversion finds nothing to do.
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

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view content(reinterpret_cast<const char*>(data), size);
    assert(canonical(content, size + 1) == canonical(content, 3));
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
