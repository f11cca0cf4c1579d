// The attributes of XCLIENT and XFORWARD (Postfix's XCLIENT_README and
// XFORWARD_README): what another mail server or a proxy reports about its
// client. Parsed and made safe here; the driver decides whom to trust.
#pragma once
#include "libsmtp/protocol/reply.h"
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace smtp {

struct ClientAttribute {
    enum class Kind : std::uint8_t {
        given,       // `value`, decoded: 1 to 255 printable characters
        unavailable, // [UNAVAILABLE]: there is none
        unknown,     // [TEMPUNAVAIL]: it could not be found out now
    };
    Kind kind = Kind::given;
    std::string value;

    bool operator==(const ClientAttribute&) const = default;
};

// Those the command named; each once.
struct ClientAttributes {
    using Attribute = std::optional<ClientAttribute>;
    Attribute name;         // NAME: confirmed by its address
    Attribute address;      // ADDR: an IP address without the "IPV6:" it comes with; its form is not judged here
    Attribute port;         // PORT: 1 to 5 digits
    Attribute protocol;     // PROTO: "SMTP" or "ESMTP" (XCLIENT); a word (XFORWARD)
    Attribute helo;         // HELO
    Attribute login;        // XCLIENT LOGIN: who it has authenticated as
    Attribute dest_address; // XCLIENT DESTADDR, as ADDR: what it connected to
    Attribute dest_port;    // XCLIENT DESTPORT
    Attribute reverse_name; // XCLIENT REVERSE_NAME: not confirmed
    Attribute ident;        // XFORWARD IDENT: its queue id there
    Attribute source;       // XFORWARD SOURCE: "LOCAL" or "REMOTE"
    bool operator==(const ClientAttributes&) const = default;
};

enum class ClientCommand : std::uint8_t { xclient, xforward };

// "NAME=spike.example ADDR=192.0.2.1". The error is the reply to send: 501 5.5.4.
std::expected<ClientAttributes, Reply> parse_client_attributes(ClientCommand command, std::string_view argument);
// XFORWARD with those of them that the server takes, `offered`: "NAME ADDR PORT"; lines of at most 512 bytes with their
// ends. Attributes without a value, or with a longer one than its receiver takes, are given as unavailable.
std::string xforward_commands(const ClientAttributes& attributes, std::string_view offered);
// What EHLO says: "XCLIENT NAME ADDR PORT …".
std::string_view offer_of(ClientCommand command);

} // namespace smtp
