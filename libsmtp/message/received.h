// Our own Received: field (RFC 5321, 4.4). Facts in, text out; all foreign text in it is made printable and limited.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace smtp {

struct ReceivedFacts {
    std::string_view helo;                                   // as sent by the client; "" if it sent none
    std::string_view name;                                   // the client's verified name, or "unknown"
    std::string_view address;                                // "192.0.2.1" or "2001:db8::1"; "" for a local submission
    std::string_view by;                                     // our host name
    std::string_view protocol;                               // "SMTP", "ESMTP", "ESMTPSA", "LMTP" …
    std::string_view tls;                                    // "TLSv1.3 with cipher X (256/256 bits)"; "" without TLS
    std::string_view id;                                     // queue id
    std::string_view recipient;                              // for=: only if the message has exactly one; else ""
    std::string_view date;                                   // "Fri, 20 Nov 2026 15:38:00 +0000" (libsmtp/text/date.h)
    std::string_view client_certificate, certificate_issuer; // common names; both "": none was shown
    bool certificate_verified = false;
};

// The whole field with its folding and its final CRLF. Lines stay under 998 bytes whatever the facts hold.
std::string received_field(const ReceivedFacts& facts);

// The field of a message submitted by a local program: "Received: by host (Postrider, from userid 0) id …".
std::string received_field_for_local(std::string_view by, std::uint32_t uid, std::string_view id,
                                     std::string_view date);

inline constexpr unsigned max_hops = 50; // more Received fields than this is a loop: 554 5.4.6

} // namespace smtp
