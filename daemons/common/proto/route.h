// queue-manager ↔ router: which next hop serves this domain, and for how long is the answer good?
#pragma once
#include "daemons/decide/host_order.h"
#include "libsmtp/protocol.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace proto::route {

inline constexpr std::string_view conversation = "route";

// A "domain" that names its next hop itself, as in [route]: "via:[relay.example.net]:2525".
inline constexpr std::string_view via = "via:";

struct Host {
    std::string name; // host name, an address literal without brackets, or the absolute path of a UNIX socket
    std::uint16_t port = 25;
    std::uint16_t preference = 0; // equal ones are tried in an order of chance …
    std::uint16_t weight = 0;     // … by their weights (decide/host_order.h)
    decide::Tier tier = decide::Tier::first;
    bool tls_wrap = false; // TLS from the first byte
    smtp::Protocol protocol = smtp::Protocol::smtp; // the same for all hosts of a link
    decide::Rank rank() const { return {tier, preference, weight}; }
    static void fields(auto& m, auto& f) {
        f("name", m.name);
        f("port", m.port);
        f("preference", m.preference);
        f("weight", m.weight);
        f("tier", m.tier);
        f("tls_wrap", m.tls_wrap);
        f("protocol", m.protocol);
    }
    bool operator==(const Host&) const = default;
};

struct Route { // queue-manager → router
    std::uint64_t request = 0;
    std::string domain; // lower case
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("domain", m.domain);
    }
};

enum class Kind : std::uint8_t {
    mx,         // hosts from DNS: never marked down
    configured, // hosts of a configured route
    temporary,  // no answer now: status and text say why
    permanent,  // the domain cannot receive mail: status and text say why
    last_ = permanent,
};

struct Routed { // router → queue-manager
    std::uint64_t request = 0;
    std::string domain;
    Kind kind = Kind::temporary;
    std::string link; // name of the link: equal for all domains with the same set of hosts
    std::vector<Host> hosts;
    std::uint32_t valid_seconds = 60; // ask again after that
    std::uint32_t connections = 0;    // at a time, at most, by the rule; 0: the queue's setting
    std::string rule;                 // the route's pattern; "" none
    std::string status, text;         // temporary, permanent
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("domain", m.domain);
        f("kind", m.kind);
        f("link", m.link);
        f("hosts", m.hosts);
        f("valid_seconds", m.valid_seconds);
        f("connections", m.connections);
        f("rule", m.rule);
        f("status", m.status);
        f("text", m.text);
    }
};

struct LinkState { // queue-manager → router: a link is down, its route's next one serves; or it is up again
    std::string link;
    bool down = false;
    static void fields(auto& m, auto& f) {
        f("link", m.link);
        f("down", m.down);
    }
};

using Message = std::variant<Route, Routed, LinkState>;

} // namespace proto::route
