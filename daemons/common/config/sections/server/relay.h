// Who may relay, and the domains that are relayed for all clients: [relay]. Values.
#pragma once
#include "daemons/common/net/network.h"
#include <set>
#include <string>
#include <vector>

namespace config {

struct Relay {
    std::vector<common::Network> networks; // may relay; loopback by default
    // Tables of certificates, by fingerprint: clients that show one of them may relay.
    std::vector<std::string> client_certificates;
    bool verified_certificates = false;         // so may those with any that tls.client_ca_file verifies
    std::set<std::string, std::less<>> domains; // lower case; relayed for all clients; ".x": subdomains of x
    std::vector<std::string> domain_tables;     // further domains
    bool parent_domains = false;                // "example.com" in domain_tables is also for the domains below it
    std::vector<std::string> recipients;        // tables of the recipients that exist; empty: all are accepted
};

} // namespace config
