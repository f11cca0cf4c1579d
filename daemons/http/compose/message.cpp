#include "daemons/http/compose/message.h"
#include "daemons/http/compose/content.h"
#include "daemons/http/compose/header.h"

namespace http::compose {

std::expected<std::string, std::string> message(const Draft& draft) {
    auto out = header(draft);
    if (!out) return out;
    const auto part = content(draft);
    if (!part) return std::unexpected(part.error());
    return *out + "MIME-Version: 1.0\r\n" + part->fields + "\r\n" + part->body;
}

} // namespace http::compose
