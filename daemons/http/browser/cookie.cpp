#include "daemons/http/browser/cookie.h"
#include "libsmtp/text/trim.h"
#include <algorithm>
#include <fmt/format.h>

namespace http {

namespace {

std::string_view cookie_named(std::string_view name, std::string_view field) {
    while (!field.empty()) {
        const auto end = std::min(field.find(';'), field.size());
        const auto pair = smtp::trimmed(field.substr(0, end));
        const auto equals = pair.find('=');
        if (equals != pair.npos && pair.substr(0, equals) == name) return pair.substr(equals + 1);
        field.remove_prefix(std::min(end + 1, field.size()));
    }
    return {};
}

} // namespace

std::string_view session_secret(const web::Request& request) {
    const auto field = request.header("cookie");
    const auto secure = cookie_named(secure_cookie, field);
    return secure.empty() ? cookie_named(plain_cookie, field) : secure;
}

bool is_secure(const web::Request& request) { return request.header("origin").starts_with("https://"); }

std::string cookie_field(std::string_view secret, bool secure, std::chrono::seconds lifetime) {
    return fmt::format("{}={}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{}", secure ? secure_cookie : plain_cookie,
                       secret, lifetime.count(), secure ? "; Secure" : "");
}

std::string forgotten_cookie_field(bool secure) { return cookie_field("", secure, std::chrono::seconds(0)); }

} // namespace http
