// Mail that a table sends by the [route] of a name instead of its domain's: "slow:" to the hosts that the route has for
// the recipient's domain, "slow:[relay.example]:26" to others, with the settings of the route. As Postfix writes a
// transport and its next hop. A value; knows no route.
#pragma once
#include "daemons/decide/routing/routing.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

// A pattern of a [route] that can be named: without dots, and nothing that has a meaning of its own before a colon.
bool is_route_name(std::string_view pattern);

struct RouteName {
    std::string route;
    std::string domain;                // the recipient's, in lower case; "": it is not known yet, or `hop` says where
    std::optional<NextHop> hop;        // a host, or a name whose MX hosts are meant
    std::vector<NextHop> further = {}; // hosts that are less preferred than `hop`, which is one as well

    // "slow:", "slow:remote.example", "slow:[relay.example]:26", "slow:relay.example:25" (a name with a port is a next
    // hop, not a domain), "slow:[mx1.example],[mx2.example]". Empty: it is none of these.
    static std::optional<RouteName> parse(std::string_view text);
    // As a table has it: "slow:relay.example" is a next hop, too.
    static std::optional<RouteName> parse_entry(std::string_view text);
    std::string to_string() const;
    bool operator==(const RouteName&) const = default;
};

// Of mail for the domain by the route of that pattern: a named route's level instead of that of other mail, unless a
// route of the domain asks for more.
TlsLevel tls_level(const RouteTable& routes, std::string_view domain, std::string_view route, TlsLevel otherwise);

// The link to the same hosts by the route of that name: "slow:mx1.example.com"; without one, the same.
std::string link_by(std::string_view route, std::string_view link);

} // namespace decide
