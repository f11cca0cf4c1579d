// queue-manager ↔ router: which next hop serves this domain, and how long is the answer valid?
//
//   Route → Routed    one question, one answer, in any order
//   LinkState         from the queue-manager, unasked: use the next hop that follows in a route, or this one again
//   StsChanged        from the router, unasked: a domain's policy in Routed is out of date
#pragma once
#include "daemons/decide/hosts/host_order.h"
#include "daemons/decide/hosts/route_kind.h"
#include "daemons/decide/tls/mta_sts.h"
#include "libsmtp/protocol/protocol.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace proto::route {

inline constexpr std::string_view conversation = "route";

// A "domain" that names its next hop itself, as in [route]: "via:[relay.example.net]:2525"; or the pattern of a route;
// or a route by which a domain's mail goes, "via:slow:remote.example" (decide/routing/route_name.h); or a domain whose
// own MX hosts are meant, "via:mx:remote.example" (decide/routing/own_hosts.h).
inline constexpr std::string_view via = "via:";

struct Host {
    std::string name; // host name, an address literal without brackets, or the absolute path of a UNIX socket
    std::uint16_t port = 25;
    std::uint16_t preference = 0; // equal ones are tried in random order …
    std::uint16_t weight = 0;     // … by their weights (decide/host_order.h)
    decide::Tier tier = decide::Tier::first;
    bool tls_wrap = false;                          // TLS from the first byte
    smtp::Protocol protocol = smtp::Protocol::smtp; // a host to fall back on may have another
    std::string account = {};                       // our user name there; "": whichever account there is, or none
    decide::Rank rank() const { return {tier, preference, weight}; }
    static void fields(auto& m, auto& f) {
        f("name", m.name);
        f("port", m.port);
        f("preference", m.preference);
        f("weight", m.weight);
        f("tier", m.tier);
        f("tls_wrap", m.tls_wrap);
        f("protocol", m.protocol);
        f("account", m.account);
    }
    bool operator==(const Host&) const = default;
};

// What MTA-STS demands of a domain's mail (RFC 8461).
struct StsPolicy {
    std::string domain; // whose policy it is; "": there is none
    decide::sts::Mode mode = decide::sts::Mode::none;
    std::string id;
    std::uint32_t max_age = 0; // seconds
    std::vector<std::string> mx;
    static void fields(auto& m, auto& f) {
        f("domain", m.domain);
        f("mode", m.mode);
        f("id", m.id);
        f("max_age", m.max_age);
        f("mx", m.mx);
    }
    bool operator==(const StsPolicy&) const = default;
};

struct Route { // queue-manager → router
    std::uint64_t request = 0;
    std::string domain; // lower case
    std::string pool;   // of source addresses, if the mail names one; "" none
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("domain", m.domain);
        f("pool", m.pool);
    }
};

struct Routed { // router → queue-manager
    std::uint64_t request = 0;
    std::string domain;
    decide::RouteKind kind = decide::RouteKind::temporary;
    std::string asked_pool; // as asked
    std::string link;       // name of the link: equal for all domains with the same set of hosts, from the same pool
    std::vector<Host> hosts;
    std::uint32_t valid_seconds = 60; // ask again after that
    std::uint32_t connections = 0;    // at a time, at most, by the rule; 0: the queue's setting
    std::string rule;                 // the route's pattern; "" none
    StsPolicy sts;                    // where the domain's TLS level asks for it
    bool secure = false;      // no attacker on the path can have substituted hosts: DNSSEC, or our own configuration
    std::string status, text; // temporary, permanent
    std::string records_of;   // the name whose MX records were queried, or SRV where by_srv; "" none
    bool by_srv = false;
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("domain", m.domain);
        f("kind", m.kind);
        f("asked_pool", m.asked_pool);
        f("link", m.link);
        f("hosts", m.hosts);
        f("valid_seconds", m.valid_seconds);
        f("connections", m.connections);
        f("rule", m.rule);
        f("sts", m.sts);
        f("secure", m.secure);
        f("status", m.status);
        f("text", m.text);
        f("records_of", m.records_of);
        f("by_srv", m.by_srv);
    }
};

struct LinkState { // queue-manager → router: a link is down, use the next one of its route; or it is up again
    std::string link;
    bool down = false;
    static void fields(auto& m, auto& f) {
        f("link", m.link);
        f("down", m.down);
    }
};

struct StsChanged { // router → queue-manager: this policy applies from now on, to all domains whose policy it is
    StsPolicy sts;  // with an empty id: the domain's has expired
    static void fields(auto& m, auto& f) { f("sts", m.sts); }
};

using Message = std::variant<Route, Routed, LinkState, StsChanged>;

} // namespace proto::route
