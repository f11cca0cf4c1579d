// The cookie of a browser's session (RFC 6265). Pure.
#pragma once
#include "daemons/common/web/message.h"
#include <chrono>
#include <string>
#include <string_view>

namespace http {

// Over HTTPS the name binds the cookie to this host. Browsers do not keep such a cookie from plain HTTP, not all of
// them even on loopback.
inline constexpr std::string_view secure_cookie = "__Host-postrider", plain_cookie = "postrider";

// The secret of the session; "": none.
std::string_view session_secret(const web::Request& request);
// Whether the browser's own connection is HTTPS, to a proxy in front of this server: its Origin says so.
bool is_secure(const web::Request& request);

// Set-Cookie.
std::string cookie_field(std::string_view secret, bool secure, std::chrono::seconds lifetime);
// Set-Cookie, so that the browser forgets it.
std::string forgotten_cookie_field(bool secure);

} // namespace http
