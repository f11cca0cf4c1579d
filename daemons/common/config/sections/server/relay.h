// Who may relay, and the domains that are relayed for all clients: [relay]. Values.
#pragma once
#include "daemons/common/net/network.h"
#include <set>
#include <string>
#include <vector>

namespace config {

struct Relay {
    std::vector<common::Network> networks;      // who may relay; loopback by default
    std::set<std::string, std::less<>> domains; // lower case; accepted from anybody and sent on; ".x": below x
    std::vector<std::string> recipients;        // tables of those there are; none: everybody
};

} // namespace config
