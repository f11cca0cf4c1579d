#include "libsmtp/capabilities.h"

namespace smtp {

std::string Capabilities::lines() const {
    std::string out;
    const auto add = [&out](std::string_view keyword) {
        if (!out.empty()) out += '\n';
        out += keyword;
    };
    if (pipelining) add("PIPELINING");
    if (size) add(*size ? "SIZE " + std::to_string(*size) : "SIZE");
    if (vrfy) add("VRFY");
    if (enhanced_status_codes) add("ENHANCEDSTATUSCODES");
    if (eight_bit_mime) add("8BITMIME");
    if (dsn) add("DSN");
    return out;
}

} // namespace smtp
