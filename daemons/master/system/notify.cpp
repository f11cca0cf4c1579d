#include "daemons/master/system/notify.h"
#include <cerrno>
#include <ctime>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

namespace master {

// The library's sd_notify() would wait until systemd reads.
Notifier::Notifier(std::string_view address) {
    sockaddr_un to{};
    if (address.size() < 2 || address.size() >= sizeof to.sun_path || (address[0] != '/' && address[0] != '@')) return;
    socket_ = common::Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_) return;
    address_ = address;
    if (address_[0] == '@') address_[0] = '\0';
}

void Notifier::send(std::string words) {
    if (address_.empty()) return;
    const auto kind = words.substr(0, words.find('=') + 1);
    std::erase_if(pending_, [&](const std::string& each) { return each.starts_with(kind); });
    pending_.push_back(std::move(words));
    send_pending();
}

void Notifier::send_pending() {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    address_.copy(to.sun_path, sizeof to.sun_path);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
    std::size_t said = 0;
    for (; said < pending_.size(); ++said) {
        const auto& words = pending_[said];
        const auto sent = ::sendto(socket_.number(), words.data(), words.size(), MSG_NOSIGNAL,
                                   reinterpret_cast<const sockaddr*>(&to), size);
        if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR)) break;
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(said));
}

void Notifier::reloading() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}",
                     static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000));
}

void Notifier::stopping(smtp::Duration within) {
    send(fmt::format("STOPPING=1\nEXTEND_TIMEOUT_USEC={}", within.count()));
}

std::optional<smtp::Duration> watchdog_interval() {
#ifdef HAVE_SYSTEMD
    std::uint64_t microseconds = 0;
    if (sd_watchdog_enabled(0, &microseconds) > 0) return smtp::Duration(microseconds / 2);
#endif
    return {};
}

} // namespace master
