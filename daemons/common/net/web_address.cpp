#include "daemons/common/net/web_address.h"
#include "daemons/common/net/network.h"
#include <algorithm>
#include <charconv>
#include <curl/curl.h>
#include <fmt/format.h>
#include <memory>
#include <optional>

namespace common {

namespace {

struct FreeUrl {
    void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::optional<std::string> part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
    char* text = nullptr;
    if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return {};
    std::string out(text);
    curl_free(text);
    return out;
}

} // namespace

std::expected<WebAddress, std::string> WebAddress::parse(std::string_view text) {
    const auto refuse = [&](std::string_view why) {
        return std::unexpected(fmt::format("\"{}\" {}", text.substr(0, 200), why));
    };
    if (text.size() > longest) return refuse(fmt::format("is too long: expected at most {} characters", longest));
    if (std::ranges::any_of(text, [](unsigned char c) { return c <= ' ' || c >= 0x7f; }))
        return refuse("has characters that must be encoded as %XX, or a name that must be in its ASCII form");
    if (text.find(":///") != text.npos) return refuse("has no host");
    const std::unique_ptr<CURLU, FreeUrl> url(curl_url());
    if (!url || curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(), 0) != CURLUE_OK)
        return refuse("is not a valid address: expected one such as \"https://hooks.example.com/mail\"");
    const auto scheme = part_of(url.get(), CURLUPART_SCHEME), host = part_of(url.get(), CURLUPART_HOST),
               port = part_of(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT), path = part_of(url.get(), CURLUPART_PATH),
               query = part_of(url.get(), CURLUPART_QUERY);
    if (!scheme || (*scheme != "https" && *scheme != "http"))
        return refuse("does not begin with \"https://\" or \"http://\"");
    if (part_of(url.get(), CURLUPART_USER) || part_of(url.get(), CURLUPART_PASSWORD))
        return refuse("has a user name or password, which is not supported");
    if (part_of(url.get(), CURLUPART_FRAGMENT)) return refuse("has a part after \"#\", which no server would get");
    WebAddress out;
    out.encrypted = *scheme == "https";
    out.host = host.value_or("");
    std::ranges::transform(out.host, out.host.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    unsigned number = 0;
    const auto digits = port.value_or("");
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (out.host.empty() || number == 0 || number > 65535) return refuse("has no valid host and port");
    out.port = static_cast<std::uint16_t>(number);
    out.target = path.value_or("/") + (query ? "?" + *query : "");
    return out;
}

bool WebAddress::is_loopback() const {
    if (host == "localhost") return true;
    const bool brackets = host.starts_with('[') && host.ends_with(']');
    const auto address = IpAddress::parse(brackets ? host.substr(1, host.size() - 2) : host);
    return address && address->is_loopback();
}

} // namespace common
