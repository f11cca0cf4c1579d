// How clients authenticate, and when they are locked out: [auth]. Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include "daemons/common/net/network.h"
#include <cstdint>
#include <string>
#include <vector>

namespace config {

struct Auth {
    std::string passwords; // file; "" none
    std::string dovecot;   // socket; "": none. If set, it alone decides
    std::vector<std::string> mechanisms = {"SCRAM-SHA-256-PLUS", "SCRAM-SHA-256", "PLAIN", "LOGIN"};
    Duration failure_delay = 2s;
    std::uint32_t failures_per_network = 20; // within failure_window: 421; 0 no limit
    Duration failure_window = 10min;
    std::vector<common::Network> lockout_exempt;  // besides loopback and relay.networks: never locked out as a whole
    std::uint32_t checks = 4;                     // passwords or answers checked at the same time, per process
    std::uint32_t checks_waiting = 200;           // queued behind these; more: 454
    std::vector<std::string> sender_login_tables; // who owns a sender: for access rules
    bool sender_match = false;                    // the reverse-path must be the user's own
};

} // namespace config
