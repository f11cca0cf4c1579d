// How the configuration names a lookup table: "text:/etc/postrider/virtual", "socketmap:unix:/run/x:name". A value.
#pragma once
#include "daemons/common/net/service_address.h"
#include "libsmtp/text/text.h"
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace tables {

enum class Kind : std::uint8_t {
    text,      // lines "key value"
    lmdb,      // what `postrider map` makes of such a file
    regexp,    // lines "/pattern/flags value"
    cidr,      // lines "network value"
    socketmap, // a service that speaks the protocol of Sendmail's socket maps
    tcp,       // a service that speaks the protocol of Postfix's tcp_table(5)
    mysql,     // a query of a MySQL or MariaDB server, described in a file
    pgsql,     // … of a PostgreSQL server
    ldap,      // … of an LDAP directory
    fixed,     // "static:VALUE": every key has that value
    section,   // [table.NAME] says what it is: "table:NAME", or "patterns:NAME" where it is asked for whole keys only
};

// Those that the process maps asks: queries of databases, each described in a file of its own.
constexpr bool is_database(Kind kind) { return kind == Kind::mysql || kind == Kind::pgsql || kind == Kind::ldap; }

inline constexpr std::size_t longest_key = 4096, longest_fixed_value = 4096; // bytes

struct Specification {
    Kind kind = Kind::text;
    std::string name = {}; // path of a file (of an lmdb, with its ".lmdb"), a section's name, a socket map's name
    common::ServiceAddress address = {}; // of socketmap and tcp
    std::string value = {};              // of fixed
    bool patterns = false;               // of a section

    // Paths are absolute, addresses numeric ("localhost" is 127.0.0.1). The error says what is expected instead.
    static std::expected<Specification, smtp::Malformed> parse(std::string_view text);
    bool operator==(const Specification&) const = default;
};

} // namespace tables
