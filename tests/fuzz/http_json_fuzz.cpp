// JSON of requests to the API, and their targets: read or refused, within the limits.
#include "daemons/common/web/target.h"
#include "daemons/http/requests/submission.h"
#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    if (const auto target = web::parse_target(text))
        for (const auto& segment : target->segments)
            if (segment.empty() || segment == "." || segment == ".." || segment.find('\0') != segment.npos)
                __builtin_trap();
    web::Request request;
    request.method = "POST";
    request.headers = {{"content-type", "application/json"}};
    request.body = text;
    const auto read = http::read_submission(request, {}, {.message_size = 1000, .recipients = 10});
    if (!read) return 0;
    if (read->recipients.size() + read->refused.size() > 10 || read->content.size() > 1000) __builtin_trap();
    if (!read->fields.empty() && !read->fields.ends_with("\r\n")) __builtin_trap();
    return 0;
}
