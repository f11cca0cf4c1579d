// The addresses of a link's hosts, one after the other: hosts by preference (equals shuffled), of each its
// IPv6 and IPv4 addresses in turn (shuffled, those that failed lately last), as many as an attempt may try.
// Asks the name system host by host, as it gets there. Knows nothing of connections.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/dns/resolver.h"
#include "daemons/common/proto/route.h"
#include "daemons/smtp-client/peers.h"
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace smtp_client {

struct Candidate {
    std::string name; // the host's, or the literal
    common::Endpoint endpoint;
    std::uint16_t preference = 0; // of the host

    std::string peer() const { return name + "[" + endpoint.address.to_string() + "]"; }
    std::string relay() const { return peer() + ":" + std::to_string(endpoint.port); }
};

// Why a host gave no address.
struct NoAddress {
    std::string host, status, text;
};

class AddressWalk {
public:
    struct Settings {
        bool ipv4 = true, ipv6 = true;
        std::size_t most = 5; // addresses in all
    };

    // `peers` and `random` must outlive it.
    AddressWalk(std::shared_ptr<dns::Resolver> resolver, const Peers& peers, std::mt19937& random,
                Settings settings, std::vector<proto::route::Host> hosts);
    AddressWalk(const AddressWalk&) = delete;
    AddressWalk& operator=(const AddressWalk&) = delete;

    // Calls `found` once, at once or later, with the next address, or with nothing at the end. Not to be
    // called again before that; dropping the walk drops the call.
    using Found = std::function<void(std::optional<Candidate>)>;
    void next(Found found);
    // The last host that had none.
    const std::optional<NoAddress>& no_address() const { return no_address_; }

private:
    void step();
    void look_up(const proto::route::Host& host);
    void answered();
    void take(const proto::route::Host& host, std::vector<common::IpAddress> v6,
              std::vector<common::IpAddress> v4);

    std::shared_ptr<dns::Resolver> resolver_;
    const Peers& peers_;
    std::mt19937& random_;
    Settings settings_;
    std::deque<proto::route::Host> hosts_;
    std::deque<Candidate> candidates_; // of the current host
    Found found_;
    std::optional<NoAddress> no_address_;
    std::optional<dns::Answer> a_, aaaa_;
    dns::Lookup a_lookup_, aaaa_lookup_;
};

} // namespace smtp_client
