// Who may relay, and the domains that are relayed for all clients: [relay]. Values.
#pragma once
#include "daemons/common/net/network.h"
#include <set>
#include <string>
#include <vector>

namespace config {

struct Relay {
    std::vector<common::Network> networks;      // may relay; loopback by default
    std::set<std::string, std::less<>> domains; // lower case; relayed for all clients; ".x": subdomains of x
    std::vector<std::string> recipients;        // tables of the recipients that exist; empty: all are accepted
};

} // namespace config
