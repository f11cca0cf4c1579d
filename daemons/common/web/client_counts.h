// Connections of each client, so that one of them does not take all. An IPv6 network of 64 bits counts as one client.
// Knows no sockets.
#pragma once
#include "daemons/common/net/network.h"
#include <cstdint>
#include <map>

namespace web {

class ClientCounts {
public:
    // 0: no limit. Clients on this host have none.
    explicit ClientCounts(std::uint32_t limit) : limit_(limit) {}

    bool has_room(const common::IpAddress& client) const {
        if (limit_ == 0 || client.is_loopback()) return true;
        const auto found = counts_.find(counted(client));
        return found == counts_.end() || found->second < limit_;
    }
    void add(const common::IpAddress& client) { ++counts_[counted(client)]; }
    void remove(const common::IpAddress& client) {
        const auto found = counts_.find(counted(client));
        if (found != counts_.end() && --found->second == 0) counts_.erase(found);
    }
    std::size_t clients() const { return counts_.size(); }

private:
    static common::IpAddress counted(common::IpAddress address) {
        constexpr std::size_t network = 8; // bytes of an IPv6 address
        if (!address.is_v4())
            for (auto at = network; at < address.bytes.size(); ++at) address.bytes[at] = 0;
        return address;
    }
    std::uint32_t limit_;
    std::map<common::IpAddress, std::uint32_t> counts_;
};

} // namespace web
