// What a server offers in its reply to EHLO. The list sent is derived from this value, as is the
// set of accepted parameters of MAIL and RCPT: what is advertised is served, and nothing else.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smtp {

struct Capabilities {
    bool pipelining = true;            // RFC 2920
    std::optional<std::uint64_t> size; // RFC 1870; 0: no limit is named
    bool enhanced_status_codes = true; // RFC 2034
    bool eight_bit_mime = true;        // RFC 6152
    bool dsn = true;                   // RFC 3461
    bool vrfy = true;                  // RFC 5321
    bool etrn = false;                 // RFC 1985
    bool smtputf8 = false;             // RFC 6531
    bool require_tls = false;          // RFC 8689; only ever under TLS
    std::string auth;                  // RFC 4954: the mechanisms, "PLAIN LOGIN"; "" none
    bool chunking = false;             // RFC 3030; BINARYMIME is never offered
    bool mt_priority = false;          // RFC 6710
    std::uint32_t future_release = 0;  // RFC 4865: the longest, in seconds; its line comes from the driver
    bool deliver_by = false;           // RFC 2852, without a minimum
    std::uint32_t recipients = 0;      // RFC 9422: RCPTMAX; 0 not named
    bool starttls = false;             // RFC 3207; gone once TLS is up

    // The lines of the EHLO reply after the first: "PIPELINING\nSIZE 52428800\n…", without a final newline.
    std::string lines() const;
    bool operator==(const Capabilities&) const = default;
};

} // namespace smtp
