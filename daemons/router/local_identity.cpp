#include "daemons/router/local_identity.h"
#include <algorithm>
#include <uv.h>

namespace router {

LocalIdentity::LocalIdentity(std::set<std::string, std::less<>> names, const std::vector<config::Listener>& listeners,
                             const std::vector<common::IpAddress>& interfaces)
    : names_(std::move(names)) {
    const auto any_v6 = *common::IpAddress::parse("::"), any_v4 = *common::IpAddress::parse("0.0.0.0");
    for (const auto& listener : listeners)
        for (const auto& endpoint : listener.addresses) {
            ports_.insert(endpoint.port);
            if (endpoint.address != any_v6 && endpoint.address != any_v4) {
                endpoints_.push_back(endpoint);
                continue;
            }
            every_v4_.insert(endpoint.port);
            if (endpoint.address == any_v6) every_v6_.insert(endpoint.port);
            for (const auto& address : interfaces)
                if (endpoint.address == any_v6 || address.is_v4()) endpoints_.push_back({address, endpoint.port});
        }
}

// 0.0.0.0 and :: are what a connection takes for 127.0.0.1 and ::1. Of 127.0.0.0/8 an interface shows one address only.
bool LocalIdentity::is_address(const common::IpAddress& named, std::uint16_t port) const {
    const auto address = named.is_wildcard() ? *common::IpAddress::parse(named.is_v4() ? "127.0.0.1" : "::1") : named;
    if (address.is_loopback() && (address.is_v4() ? every_v4_ : every_v6_).contains(port)) return true;
    return std::find(endpoints_.begin(), endpoints_.end(), common::Endpoint{address, port}) != endpoints_.end();
}

std::vector<common::IpAddress> LocalIdentity::interfaces() {
    std::vector<common::IpAddress> out;
    uv_interface_address_t* list = nullptr;
    int count = 0;
    if (uv_interface_addresses(&list, &count) != 0) return out;
    for (int i = 0; i < count; ++i)
        if (auto address = common::IpAddress::of(reinterpret_cast<const sockaddr*>(&list[i].address)))
            out.push_back(*address);
    uv_free_interface_addresses(list, count);
    return out;
}

} // namespace router
