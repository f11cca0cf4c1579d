// Which hosts are this very system: its names, and the addresses and ports it listens on. What routes must
// not lead back to.
#pragma once
#include "daemons/common/config/sections/server/listener.h"
#include "daemons/common/net/network.h"
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace router {

class LocalIdentity {
public:
    LocalIdentity() = default;
    // `interfaces`: the addresses of this system, for listeners on every address.
    LocalIdentity(std::set<std::string, std::less<>> names, const std::vector<config::Listener>& listeners,
                  const std::vector<common::IpAddress>& interfaces);

    bool is_name(std::string_view host) const { return names_.contains(host); }
    bool is_address(const common::IpAddress& address, std::uint16_t port) const;
    // Nothing listens there: no address with that port can be ours.
    bool listens_on(std::uint16_t port) const { return ports_.contains(port); }

    // As the system says now.
    static std::vector<common::IpAddress> interfaces();

private:
    std::set<std::string, std::less<>> names_;
    std::set<std::uint16_t> ports_;
    std::vector<common::Endpoint> endpoints_;
    std::set<std::uint16_t> every_v4_, every_v6_; // ports of listeners on every address: all of loopback is theirs
};

} // namespace router
