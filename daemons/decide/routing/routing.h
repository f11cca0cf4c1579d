// Which rule of the configuration serves a domain. A value built once from the [route] sections and asked per
// domain; what the names in a rule mean in DNS is mx.h's business.
#pragma once
#include "daemons/decide/outcome/failure.h"
#include "daemons/decide/queue/settings.h"
#include "daemons/decide/tls/certificate_files.h"
#include "daemons/decide/tls/tls_policy.h"
#include "libsmtp/protocol/protocol.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace decide {

// One place to send to.
struct NextHop {
    enum class Kind {
        host,      // "[relay.example.net]:2525", "[192.0.2.1]": this host itself, no MX lookup; with our account
                   // there before it, "ann@[relay.example.net]", "ann@example.com@[relay.example.net]"; by LMTP
                   // "lmtp:[store.example.net]:24" or, through a socket of this system, "lmtp:/run/lmtp"
        mx_of,     // "relay.example.net", "relay.example.net:2525": the MX hosts of that name
        recipient, // "mx", "mx:2525": the MX hosts of the recipient's own domain
        srv,       // "srv:example.net": where that domain takes submitted mail, by SRV records
    };
    Kind kind = Kind::recipient;
    std::string name;        // lower case, without brackets; "" for recipient; or the socket's path, absolute
    std::uint16_t port = 25; // 0: a socket's path
    smtp::Protocol protocol = smtp::Protocol::smtp;
    std::string account = {}; // hosts: the user we are there; "": whichever account there is, or none

    static constexpr std::size_t longest_path = 107;    // bytes (sun_path)
    static constexpr std::size_t longest_account = 255; // characters of ASCII, none of  [ ] : , ; " \ * ?  or a blank
    // Empty for anything that is none of the above.
    static std::optional<NextHop> parse(std::string_view text);
    std::string to_string() const;
    bool operator==(const NextHop&) const = default;
};

// How we authenticate at a route's next hop, if there is an account for it.
struct AuthRule {
    bool never = false;
    std::vector<std::string> mechanisms; // the only ones used; empty: all there are
    bool without_tls = false;            // those that show the password may be used in plain text
    bool operator==(const AuthRule&) const = default;
};

// One [route."<pattern>"].
struct RouteRule {
    std::string pattern;                         // "example.com", ".example.com" (everything below it), "*"; lower case
    std::vector<std::vector<NextHop>> next_hops; // in order of preference; those in one inner list are equals
    std::uint32_t connections = 0;               // of the link, at most; 0: the default for its kind
    queue::RouteSettings queueing;
    std::vector<ReplyRule> replies;      // the first that covers a reply counts
    std::string pool;                    // of source addresses, for mail that names none; "" none
    TlsLevel tls = TlsLevel::by_default; // for the pattern's mail, whichever link it goes by
    CertificateFiles certificates;       // instead of those of all mail
    AuthRule auth;
    std::vector<NextHop> fallback;                          // hosts for when no MX host is available
    std::optional<std::vector<std::string>> generic_tables; // instead of those of all other mail
    bool tls_wrap = false;                                  // hosts in brackets: TLS from the first byte
    bool operator==(const RouteRule&) const = default;
};

class RouteTable {
public:
    RouteTable() = default;
    explicit RouteTable(std::vector<RouteRule> rules);

    // `domain` in lower case. The exact name first, then ".parent" from the longest to the shortest, then
    // "*"; null: no rule, so the domain's own MX hosts serve it. The rule lives as long as the table.
    const RouteRule* find(std::string_view domain) const;
    // The rule of exactly that pattern, or null.
    const RouteRule* named(std::string_view pattern) const;

    // Of mail for the domain; `otherwise` where no rule says.
    TlsLevel tls_level(std::string_view domain, TlsLevel otherwise) const;
    // … of the rule with that pattern; "": of none.
    TlsLevel tls_level_of(std::string_view pattern, TlsLevel otherwise) const;

private:
    std::vector<RouteRule> rules_;
    std::unordered_map<std::string, std::size_t> by_pattern_;
};

} // namespace decide
