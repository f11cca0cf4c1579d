#include "libsmtp/message/received.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>

namespace smtp {

// Text from others in the field: made printable, limited, and unable to open or close a comment.
static std::string word(std::string_view text, std::size_t limit = 255) {
    std::string out = printable(text, limit);
    for (char& c : out)
        if (c == '(' || c == ')' || c == '\\' || c == ';' || c == '"') c = '?';
    return out;
}

std::string received_field(const ReceivedFacts& facts) {
    fmt::memory_buffer out;
    const auto to = std::back_inserter(out);
    const bool ipv6 = facts.address.find(':') != facts.address.npos;
    const auto helo = facts.helo.empty() ? "unknown" : word(facts.helo);
    fmt::format_to(to, "Received: from {} ({} [{}{}])\r\n", helo, word(facts.name), ipv6 ? "IPv6:" : "", facts.address);
    if (!facts.tls.empty()) fmt::format_to(to, "\t(using {})\r\n", printable(facts.tls, 200));
    if (!facts.client_certificate.empty() || !facts.certificate_issuer.empty())
        fmt::format_to(to, "\t(Client CN \"{}\", Issuer \"{}\" ({}))\r\n", word(facts.client_certificate, 100),
                       word(facts.certificate_issuer, 100),
                       facts.certificate_verified ? "verified OK" : "not verified");
    fmt::format_to(to, "\tby {} (Postrider) with {} id {}", facts.by, facts.protocol, facts.id);
    if (!facts.recipient.empty()) fmt::format_to(to, "\r\n\tfor <{}>", printable(facts.recipient, 330));
    fmt::format_to(to, "; {}\r\n", facts.date);
    return fmt::to_string(out);
}

std::string received_field_for_local(std::string_view by, std::uint32_t uid, std::string_view id,
                                     std::string_view date) {
    return fmt::format("Received: by {} (Postrider, from userid {})\r\n\tid {}; {}\r\n", by, uid, id, date);
}

} // namespace smtp
