#include "libsmtp/protocol/capabilities.h"

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
    if (etrn) add("ETRN");
    if (starttls) add("STARTTLS");
    if (!auth.empty()) add("AUTH " + auth);
    if (enhanced_status_codes) add("ENHANCEDSTATUSCODES");
    if (eight_bit_mime) add("8BITMIME");
    if (dsn) add("DSN");
    if (smtputf8) add("SMTPUTF8");
    if (chunking) add("CHUNKING");
    if (require_tls) add("REQUIRETLS");
    if (mt_priority) add("MT-PRIORITY");
    if (deliver_by) add("DELIVERBY");
    if (recipients != 0) add("LIMITS RCPTMAX=" + std::to_string(recipients));
    return out;
}

} // namespace smtp
