// Certificates and TLS versions of the server: [tls]. Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include "daemons/common/config/sections/system/tls_version.h"
#include <string>
#include <vector>

namespace config {

struct Tls {
    std::vector<std::string> certificates; // chains, PEM; the first serves who asks for no name
    std::vector<std::string> keys;         // as many, or none: the key is in the same file
    std::string client_authorities;        // PEM; "" none
    TlsVersion minimum_version = TlsVersion::tls_1_2;
    std::string ciphers;
    bool session_tickets = true;
    Duration ticket_lifetime = 12h; // a key for tickets is in use so long, and opens old ones as long again
    Duration handshake_timeout = 1min;
};

} // namespace config
