// The client of a server's session as it describes itself (greeting, TLS, AUTH) or as a proxy describes it. A
// value; the driver decides whether a proxy is believed.
#pragma once
#include "libsmtp/protocol/client_attributes.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace smtp {

enum class Greeting : std::uint8_t { none, helo, ehlo };

struct ServerClient {
    Greeting greeting = Greeting::none;
    std::string helo = {}; // the name it greeted with; "" none
    bool tls = false, authenticated = false;
    bool proxied = false; // XCLIENT was believed: the rest is of the client it describes

    // "SMTP", "ESMTP", "ESMTPS" … (RFC 3848); `utf8`: "UTF8SMTPS" … (RFC 6531, 4.3).
    std::string_view protocol(bool utf8 = false) const;
};

// The client that XCLIENT describes, as it is once the proxy is believed. A greeting and AUTH may have taken
// place.
ServerClient described_client(const ClientAttributes& attributes, bool tls);

} // namespace smtp
