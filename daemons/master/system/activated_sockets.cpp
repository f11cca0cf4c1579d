#include "daemons/master/system/activated_sockets.h"
#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

namespace master {

using spool::Error;
using spool::Result;

std::vector<ActivatedSocket> activated_sockets() {
    std::vector<ActivatedSocket> out;
#ifdef HAVE_SYSTEMD
    char** names = nullptr;
    const int count = sd_listen_fds_with_names(1, &names);
    for (int i = 0; i < count; ++i) out.push_back({names[i], common::Fd(SD_LISTEN_FDS_START + i)});
    if (names != nullptr) {
        for (char** each = names; *each != nullptr; ++each) std::free(*each);
        std::free(names);
    }
#endif
    return out;
}

namespace {

// Where it listens; nothing: it is no listening TCP socket.
std::optional<common::Endpoint> listens_at(int fd) {
    int listening = 0;
    socklen_t size = sizeof listening;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || listening == 0) return {};
    sockaddr_storage storage{};
    size = sizeof storage;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
    const auto address = common::IpAddress::of(reinterpret_cast<const sockaddr*>(&storage));
    if (!address) return {};
    return common::Endpoint{*address, ntohs(storage.ss_family == AF_INET
                                                ? reinterpret_cast<const sockaddr_in&>(storage).sin_port
                                                : reinterpret_cast<const sockaddr_in6&>(storage).sin6_port)};
}

// "*:25" is every address of this host; where there is no IPv6, systemd opens it for IPv4 alone.
bool same_place(const common::Endpoint& wanted, const common::Endpoint& at) {
    return wanted == at ||
           (wanted.port == at.port && wanted.address == common::IpAddress{} && at.address.is_wildcard());
}

std::string list_of(const std::vector<common::Endpoint>& addresses) {
    std::string text;
    for (const auto& each : addresses) text += (text.empty() ? "" : ", ") + each.to_string();
    return text;
}

std::string names_of(const std::vector<config::Listener>& listeners) {
    std::string text;
    for (const auto& each : listeners) text += (text.empty() ? "" : ", ") + each.name;
    return text;
}

} // namespace

Result<std::map<std::string, common::Fd>> by_address(std::vector<ActivatedSocket> handed,
                                                     const std::vector<config::Listener>& listeners) {
    std::map<std::string, common::Fd> placed;
    for (auto& [name, fd] : handed) {
        const auto at = listens_at(fd.number());
        if (!at)
            return std::unexpected(
                Error{EINVAL, fmt::format("systemd passed \"{}\", which is not a listening TCP socket: use "
                                          "ListenStream= with a port in its .socket unit",
                                          name)});
        const auto listener = std::ranges::find(listeners, name, &config::Listener::name);
        if (listener == listeners.end())
            return std::unexpected(Error{
                EINVAL,
                fmt::format("systemd passed a socket at {} with the name \"{}\", but there is no [listen.{}] (there "
                            "is: {}): set FileDescriptorName= in its .socket unit to the name of a section",
                            at->to_string(), name, name, names_of(listeners))});
        const auto wanted =
            std::ranges::find_if(listener->addresses, [&](const auto& each) { return same_place(each, *at); });
        if (wanted == listener->addresses.end())
            return std::unexpected(Error{
                EINVAL,
                fmt::format("systemd passed a socket at {} for [listen.{}], whose addresses are {}: make them the "
                            "same (ListenStream= in the .socket unit, listen.{}.addresses)",
                            at->to_string(), name, list_of(listener->addresses), name)});
        if (const int flags = fcntl(fd.number(), F_GETFL); flags >= 0) fcntl(fd.number(), F_SETFL, flags | O_NONBLOCK);
        placed.insert_or_assign(wanted->to_string(), std::move(fd));
    }
    return placed;
}

} // namespace master
