#include "daemons/common/config/local_listener.h"
#include "daemons/common/config/config.h"
#include <algorithm>

namespace config {

namespace {

// A listener on every address also covers all of loopback; connections to 0.0.0.0 and :: go to loopback.
bool leads_to(const common::IpAddress& address, const common::IpAddress& listener) {
    const bool loopback = address.is_loopback() || address.is_wildcard();
    if (!listener.is_wildcard()) return address == listener || (address.is_wildcard() && listener.is_loopback());
    return loopback && (address.is_v4() || !listener.is_v4());
}

} // namespace

const Listener* local_listener(const Config& config, const decide::NextHop& hop) {
    if (hop.kind != decide::NextHop::Kind::host || hop.port == 0) return nullptr;
    const auto address = common::IpAddress::parse(hop.name);
    const bool our_name = hop.name == config.mta.hostname || hop.name == "localhost";
    const auto ours = [&](const common::Endpoint& endpoint) {
        return endpoint.port == hop.port && (our_name || (address && leads_to(*address, endpoint.address)));
    };
    const auto found = std::ranges::find_if(
        config.listeners, [&](const Listener& each) { return std::ranges::any_of(each.addresses, ours); });
    return found == config.listeners.end() ? nullptr : &*found;
}

const Listener* local_listener(const std::vector<Listener>& listeners, const common::Endpoint& at) {
    const auto answers = [&](const common::Endpoint& endpoint) {
        const auto& address = endpoint.address;
        return endpoint.path.empty() && endpoint.port == at.port &&
               (address == at.address || (address.is_wildcard() && (at.address.is_v4() || !address.is_v4())));
    };
    const auto found = std::ranges::find_if(
        listeners, [&](const Listener& each) { return std::ranges::any_of(each.addresses, answers); });
    return found == listeners.end() ? nullptr : &*found;
}

} // namespace config
