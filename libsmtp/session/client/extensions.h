// What a server offers in its reply to EHLO, and how far the connection to it is protected.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace smtp {

struct ServerExtensions {
    bool esmtp = false, pipelining = false, eight_bit_mime = false, dsn = false, size = false;
    bool starttls = false, require_tls = false, smtputf8 = false, chunking = false;
    bool deliver_by = false;               // RFC 2852 …
    std::uint32_t shortest_deliver_by = 0; // … with at least as many seconds left; 0: none given
    std::uint64_t size_limit = 0;          // 0: none given
    std::string auth;                      // mechanisms, "PLAIN LOGIN"; "": AUTH was not offered
    std::string xforward;                  // attributes of XFORWARD (Postfix's XFORWARD_README); "": not offered
    // LIMITS (RFC 9422); 0: none given
    std::uint32_t recipients = 0;   // of a transaction (RCPTMAX)
    std::uint32_t domains = 0;      // of its recipients (RCPTDOMAINMAX)
    std::uint32_t transactions = 0; // in this conversation (MAILMAX)
};

// From the text of a positive reply to EHLO or LHLO.
ServerExtensions read_extensions(std::string_view text);

enum class ChannelSecurity : std::uint8_t {
    plain,
    encrypted,
    verified, // TLS, and the certificate is that of the host we meant
};

} // namespace smtp
