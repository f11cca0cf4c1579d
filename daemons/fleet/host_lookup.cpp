#include "daemons/fleet/host_lookup.h"
#include <memory>
#include <netdb.h>
#include <sys/socket.h>

namespace fleet {

namespace {

constexpr std::size_t most_addresses = 8;

HostLookup::Found look_up(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_ADDRCONFIG;
    addrinfo* list = nullptr;
    if (const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0)
        return std::unexpected(host + ": " + ::gai_strerror(error));
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> freed(list, ::freeaddrinfo);
    std::vector<common::Endpoint> out;
    for (const auto* each = list; each && out.size() < most_addresses; each = each->ai_next)
        if (const auto address = common::IpAddress::of(each->ai_addr)) out.push_back({*address, port});
    if (out.empty()) return std::unexpected(host + ": it has no address");
    return out;
}

} // namespace

HostLookup::HostLookup(common::Loop& loop, const std::string& host, std::uint16_t port,
                       std::function<void(const Found&)> done)
    : work_(loop) {
    auto found = std::make_shared<Found>(std::unexpect);
    work_.start([found, host, port] { *found = look_up(host, port); },
                [found, done = std::move(done)] { done(*found); });
}

} // namespace fleet
