#include "daemons/common/net/dns/servers.h"
#include <fmt/format.h>

namespace dns {

namespace {

constexpr std::uint16_t usual_port = 53;
constexpr std::size_t most_named = 3; // as many as resolv.conf(5) has

bool names_a_server(std::string_view resolv_conf) {
    while (!resolv_conf.empty()) {
        const auto line = resolv_conf.substr(0, resolv_conf.find('\n'));
        if (line.starts_with("nameserver ") || line.starts_with("nameserver\t")) return true;
        resolv_conf.remove_prefix(std::min(line.size() + 1, resolv_conf.size()));
    }
    return false;
}

} // namespace

std::string servers_text(std::span<const common::Endpoint> servers, ServersFrom from, const std::string* resolv_conf) {
    std::string names;
    for (std::size_t i = 0; i < servers.size() && i < most_named; ++i)
        names += fmt::format("{}{}",
                             i == 0                    ? ""
                             : i + 1 == servers.size() ? " and "
                                                       : ", ",
                             servers[i].port == usual_port ? servers[i].address.to_string() : servers[i].to_string());
    if (servers.size() > most_named) names += fmt::format(" and {} more", servers.size() - most_named);
    if (from == ServersFrom::dns_servers) return fmt::format("asked {}, from dns.servers", names);
    if (resolv_conf == nullptr) return fmt::format("asked {}, because /etc/resolv.conf cannot be read", names);
    if (!names_a_server(*resolv_conf)) return fmt::format("asked {}, because /etc/resolv.conf lists no server", names);
    return fmt::format("asked {}, from /etc/resolv.conf", names);
}

} // namespace dns
