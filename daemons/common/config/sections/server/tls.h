// Certificates and TLS versions of the server: [tls]. Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include "daemons/common/config/sections/system/tls_version.h"
#include <string>
#include <vector>

namespace config {

struct Tls {
    std::vector<std::string> certificates; // chains, PEM; the first is for clients that request no name
    std::vector<std::string> keys;         // one each, or none: the key is in the same file
    std::string client_authorities;        // PEM; "" none
    TlsVersion minimum_version = TlsVersion::tls_1_2;
    std::string ciphers;
    bool session_tickets = true;
    Duration ticket_lifetime = 12h; // a ticket key is used this long, and decrypts old tickets as long again
    Duration handshake_timeout = 1min;
};

} // namespace config
