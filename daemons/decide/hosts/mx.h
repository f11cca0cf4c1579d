// From what the name system said to the hosts of a domain, or why it can have no mail. Pure: lookups are
// made by the caller and passed in as values.
#pragma once
#include "daemons/decide/hosts/host_order.h"
#include "daemons/decide/hosts/route_kind.h"
#include "libsmtp/protocol/protocol.h"
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

// What a lookup came to.
enum class LookupStatus {
    records,
    no_name, // NXDOMAIN, with the zone's SOA to prove it
    no_data, // the name exists, but has no such record
    failed,  // SERVFAIL, timeout, garbage: no answer now
};

struct MxRecord {
    std::uint16_t preference = 0;
    std::string host; // lower case, no dot at the end; "" = "." (null MX)
    bool operator==(const MxRecord&) const = default;
};

struct Host {
    std::string name; // host name, an address without brackets, or the path of a socket
    std::uint16_t port = 25;
    std::uint16_t preference = 0; // equal ones are tried in an order of chance
    std::uint16_t weight = 0;     // among those, by host_order.h
    Tier tier = Tier::first;
    bool tls_wrap = false; // TLS from the first byte
    smtp::Protocol protocol = smtp::Protocol::smtp;
    std::string account = {}; // the user we are there; "": whichever account there is, or none
    bool operator==(const Host&) const = default;
};

// Where a domain's mail goes, or why not.
struct Destination {
    RouteKind kind = RouteKind::temporary;
    std::vector<Host> hosts;    // by preference
    std::string link;           // equal for equal sets of hosts
    std::string status, text;   // "4.4.3", one line for log and report
    bool includes_self = false; // this very system is one of its hosts, those here are better ones

    static Destination of(RouteKind kind, std::vector<Host> hosts);
    static Destination refuse(RouteKind kind, std::string_view status, std::string text);
    bool found() const { return kind == RouteKind::mx || kind == RouteKind::configured; }
};

// The MX answer settled it, or the domain's own addresses have to be looked up (address_only).
struct MxDecision {
    bool address_only = false; // no MX record at all: the domain itself is the host, if it has an address
    Destination destination;
};

// Is that host at that port this very system?
using IsSelf = std::function<bool(const std::string& host)>;

// `port`: that of a rule, or 25. `why`: what failed, for the text.
MxDecision decide_mx(std::string_view domain, LookupStatus said, std::vector<MxRecord> records, std::string_view why,
                     std::uint16_t port, const IsSelf& is_self);

// For a domain without MX records: what the lookups of its A and AAAA records said.
Destination decide_address_only(std::string_view domain, LookupStatus a, LookupStatus aaaa, std::string_view why,
                                std::uint16_t port, const IsSelf& is_self);

// "mx1.example.com,mx2.example.com;backup.example.net": equals with commas, the next preference behind a
// semicolon; configured hosts, and those to fall back on, in brackets; by LMTP "lmtp:[store.example.net]"; our
// account before the bracket, "ann@example.com@[smtp.example.net]:587"; "/tls" behind those with TLS from the first
// byte. At most 200 characters; longer ones are cut and told apart by a hash.
std::string link_name(RouteKind kind, const std::vector<Host>& hosts);

// The link to the same hosts from a pool of source addresses: "mx1.example.com@bulk"; without one, the same.
std::string link_from(std::string_view link, std::string_view pool);
// … and its halves: what it leads to, and the pool ("" none).
std::string_view link_to(std::string_view link);
std::string_view pool_of_link(std::string_view link);

} // namespace decide
