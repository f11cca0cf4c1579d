// Time limits, TLS and extensions of outgoing SMTP: [smtp_client]. Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include "daemons/common/config/sections/system/tls_version.h"
#include "daemons/decide/tls/certificate_files.h"
#include "daemons/decide/tls/tls_policy.h"
#include <cstdint>
#include <string>
#include <vector>

namespace config {

struct SmtpClient {
    std::uint32_t workers = 0; // never 0 after parse(): half the processors, 1 to 8
    std::string helo;          // never empty after parse(): the hostname
    Duration connect_timeout = 30s;
    Duration greeting_timeout = 5min;
    Duration command_timeout = 5min; // EHLO, MAIL, RCPT, RSET
    Duration data_timeout = 2min;
    Duration block_timeout = 3min;
    Duration final_dot_timeout = 10min;
    std::uint64_t minimum_rate = 64; // bytes per second that a server must accept of a message; 0: no minimum
    Duration delivery_timeout = 1h;  // of a transaction, in addition to the time for its content at that rate
    std::uint32_t addresses_per_attempt = 5;
    Duration connection_attempt_delay = 250ms; // RFC 8305, 5
    bool ipv4 = true, ipv6 = true;
    bool pipelining = true;
    bool chunking = true;
    decide::TlsLevel tls = decide::TlsLevel::sts; // never by_default
    TlsVersion tls_minimum_version = TlsVersion::tls_1_2;
    std::string tls_ciphers;
    std::string tls_authorities = "/etc/ssl/certs/ca-certificates.crt"; // PEM; "": no certificate is trusted
    decide::CertificateFiles certificates; // shown to servers whose route has none of its own
    // Rules for what leaves, as written; common::HeaderChecks compiles them.
    std::vector<std::string> header_checks, mime_header_checks, nested_header_checks, body_checks;
    std::vector<std::string> reply_rules; // as written; common::ReplyPatterns compiles them
    std::string credentials;              // file of our accounts at next hops; "": none
};

} // namespace config
