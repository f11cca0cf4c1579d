// What several nodes share, and the store where they do: [fleet]. Values.
#pragma once
#include <cstdint>
#include <string>

namespace config {

struct Config;

// What nodes do with idempotency keys.
enum class FleetKeys : std::uint8_t {
    strict, // a key makes one message on all nodes; mail with one waits for the store
    local,  // the same, but while the store is away each node knows only its own keys
    off,    // each node knows only its own keys
};

struct Fleet {
    std::string store; // "redis://…", "rediss://…"; "": this node is alone
    std::string user;
    std::string password_file; // "": no password is sent
    std::string ca_file;       // "": smtp_client.tls_ca_file
    std::uint32_t expected_nodes = 0;
    std::string prefix = "postrider"; // of all keys in the store
    FleetKeys keys = FleetKeys::strict;
    std::string node;          // mta.node; never empty after parse()
    bool shares_rates = false; // a route has share_rates
    bool operator==(const Fleet&) const = default;

    bool enabled() const { return !store.empty(); }
    bool shares_keys() const { return enabled() && keys != FleetKeys::off; }
    bool encrypted() const { return store.starts_with("rediss:"); }
};

// For code that does not see the whole configuration.
const Fleet& fleet_of(const Config& config);

} // namespace config
