// Where FILTER, a result of access tables and an action of content rules, sends a message first: a host in brackets or
// a socket as content_filter has them ("[127.0.0.1]:10024", "lmtp:/run/filter"), or a route by its name; also as
// Postfix writes a transport and its next hop ("smtp:127.0.0.1:10024", "lmtp:unix:/run/filter", "scanner:",
// "scanner:[127.0.0.1]:10024"). Pure text; knows no route.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace decide {

// "[127.0.0.1]:10024", "lmtp:/run/filter", "scanner:", "scanner:[127.0.0.1]:10024": each is its own destination. Empty:
// it is none, for its hosts depend on the recipients or on the DNS.
std::optional<std::string> filter_destination(std::string_view text);
inline constexpr std::string_view not_a_filter =
    "expected a host in brackets, such as smtp:[127.0.0.1]:10024, or the name of a [route]";

// The route that it names; "" none.
std::string_view route_of_filter(std::string_view destination);

} // namespace decide
