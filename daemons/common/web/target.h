// The target of an HTTP request (RFC 9112, 3.2.1) in its parts. Strict: what could be read in two ways is rejected, so
// that no proxy in front of this server takes a request for another one. Pure.
#pragma once
#include "daemons/common/web/message.h"
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace web {

inline constexpr std::size_t longest_target = 8192, most_parameters = 100;

struct Target {
    std::string path;                  // as sent
    std::vector<std::string> segments; // decoded; "/v1/messages" has two
    Fields parameters;                 // decoded, in their order
};

// The error is a line for the client.
std::expected<Target, std::string> parse_target(std::string_view text);
// What follows "?", or a form (application/x-www-form-urlencoded).
std::expected<Fields, std::string> parse_query(std::string_view text);

} // namespace web
