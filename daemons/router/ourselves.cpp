#include "daemons/router/ourselves.h"
#include <algorithm>
#include <uv.h>

namespace router {

Ourselves::Ourselves(const config::Config& config, const std::vector<common::IpAddress>& interfaces)
    : names_{config.mta.hostname, config.smtp_client.helo} {
    const auto any_v6 = *common::IpAddress::parse("::"), any_v4 = *common::IpAddress::parse("0.0.0.0");
    for (const auto& listener : config.listeners)
        for (const auto& endpoint : listener.addresses) {
            ports_.insert(endpoint.port);
            if (endpoint.address != any_v6 && endpoint.address != any_v4) {
                endpoints_.push_back(endpoint);
                continue;
            }
            for (const auto& address : interfaces)
                if (endpoint.address == any_v6 || address.is_v4())
                    endpoints_.push_back({address, endpoint.port});
        }
}

bool Ourselves::is_address(const common::IpAddress& address, std::uint16_t port) const {
    return std::find(endpoints_.begin(), endpoints_.end(), common::Endpoint{address, port}) !=
           endpoints_.end();
}

std::vector<common::IpAddress> Ourselves::interfaces() {
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
