#include "daemons/common/web/framing.h"
#include <algorithm>
#include <charconv>

namespace web {

std::expected<Framing, std::string> framing_of(const Fields& headers) {
    const auto wrong = [](const char* why) { return std::unexpected(std::string(why)); };
    const auto count = [&](std::string_view name) {
        return std::ranges::count(headers, name, [](const auto& each) { return std::string_view(each.first); });
    };
    for (const auto& [name, value] : headers)
        if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") != name.npos)
            return wrong("a header field has a name that is not valid");
    const auto lengths = count("content-length"), codings = count("transfer-encoding");
    if (count("host") > 1) return wrong("Host is given more than once");
    if (lengths > 1) return wrong("Content-Length is given more than once");
    if (lengths > 0 && codings > 0) return wrong("both Content-Length and Transfer-Encoding are given");
    if (codings > 1) return wrong("Transfer-Encoding is given more than once");
    for (const auto& [name, value] : headers) {
        if (name == "transfer-encoding") {
            std::string lower = value;
            std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c | 0x20 : c; });
            if (lower != "chunked") return wrong("Transfer-Encoding: expected chunked");
            return Framing{};
        }
        if (name != "content-length") continue;
        std::uint64_t length = 0;
        const auto end = value.data() + value.size();
        const bool digits = !value.empty() && std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
        if (const auto [rest, error] = std::from_chars(value.data(), end, length);
            !digits || error != std::errc{} || rest != end)
            return wrong("Content-Length: expected a number");
        return Framing{length};
    }
    return Framing{0};
}

} // namespace web
