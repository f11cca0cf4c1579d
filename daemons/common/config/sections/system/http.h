// The API over HTTP: where it is served, and its limits: [http]. Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include "daemons/common/net/network.h"
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <string>
#include <vector>

namespace config {

struct Http {
    bool enabled = false;                 // on run/http.sock; with addresses in `listen` it is served there, too
    std::vector<common::Endpoint> listen; // besides the socket
    std::string certificate;              // of all addresses in `listen`: a chain, PEM; "": they are plain text
    std::string key;                      // PEM; "": it is in the same file
    bool insecure = false;                // addresses other than loopback are allowed, in plain text
    bool content = false;                 // of queued mail may be read with tokens that have the scope
    std::vector<std::string> names;       // that clients may use in Host, besides those of this host and of loopback
    std::uint32_t connections = 1000;     // of each address, and of the socket
    std::uint32_t connections_per_address = 100; // of one client, but for loopback; 0: no limit
    std::uint32_t followers = 500;               // clients that follow events
    std::uint64_t memory = 256 * MiB;            // of requests that are being received or submitted, together
    std::uint32_t failures_per_network = 20;     // invalid tokens from one network, then it is locked out; 0: no limit
    smtp::Duration failure_window = std::chrono::minutes(10);
    std::vector<common::Network> lockout_exempt; // besides loopback

    bool encrypted() const { return !certificate.empty(); }
    bool served() const { return enabled || !listen.empty(); }
    static std::string directory(const std::string& spool) { return spool + "/http"; } // of the tokens
};

} // namespace config
