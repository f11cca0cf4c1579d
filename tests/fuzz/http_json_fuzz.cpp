// JSON of requests to the API, and their targets: read or refused, within the limits. What is composed of it is a
// message whatever the texts are: lines with their ends, none too long, and the fields that were asked for.
#include "daemons/common/web/target.h"
#include "daemons/http/requests/submission.h"
#include "libsmtp/message/header.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace {

void check_lines(std::string_view content) {
    for (std::size_t at = 0; at < content.size();) {
        const auto end = content.find_first_of("\r\n", at);
        if (end == content.npos || content.substr(end, 2) != "\r\n" || end - at > 998) __builtin_trap();
        at = end + 2;
    }
}

// Those of a header that was composed: its own, and those in `given`.
void check_fields(const smtp::HeaderBlock& header, const nlohmann::json& given) {
    constexpr std::string_view own[] = {"From",         "To",           "Subject",
                                        "MIME-Version", "Content-Type", "Content-Transfer-Encoding"};
    if (header.end != smtp::HeaderEnd::blank_line) __builtin_trap();
    for (const auto& field : header.fields) {
        const auto is = [&](std::string_view name) { return smtp::same_ignoring_case(name, field.name); };
        bool known = std::ranges::any_of(own, is);
        if (given.is_object())
            for (const auto& [name, value] : given.items()) known = known || is(name);
        if (!known) __builtin_trap();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    if (const auto target = web::parse_target(text))
        for (const auto& segment : target->segments)
            if (segment.empty() || segment == "." || segment == ".." || segment.find('\0') != segment.npos)
                __builtin_trap();
    constexpr std::size_t largest = 100'000;
    web::Request request;
    request.method = "POST";
    request.headers = {{"content-type", "application/json"}};
    request.body = text;
    const auto read = http::read_submission(request, {}, {.message_size = largest, .recipients = 10});
    if (!read) return 0;
    if (read->recipients.size() + read->refused.size() > 10 || read->content.size() > largest) __builtin_trap();
    if (!read->fields.empty() && !read->fields.ends_with("\r\n")) __builtin_trap();
    const auto body = nlohmann::json::parse(text, nullptr, false);
    if (body.contains("raw") && !body["raw"].is_null()) return 0;
    check_lines(read->content);
    check_fields(smtp::scan_header(read->content), body.value("headers", nlohmann::json()));
    return 0;
}
