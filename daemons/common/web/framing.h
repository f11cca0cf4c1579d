// How a request says where its body ends. What two servers could understand differently is rejected (request
// smuggling, RFC 9112, 6.3 and 11.2). Pure.
#pragma once
#include "daemons/common/web/message.h"
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

namespace web {

struct Framing {
    std::optional<std::uint64_t> length; // nothing: chunked
};

// The error is a line for the client; the connection must not be used further.
std::expected<Framing, std::string> framing_of(const Fields& headers);

} // namespace web
