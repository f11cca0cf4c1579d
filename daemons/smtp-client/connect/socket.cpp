#include "daemons/smtp-client/connect/socket.h"
#include <algorithm>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

namespace smtp_client {
namespace {

union AnyAddress {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
    sockaddr_un local;
};

socklen_t fill(AnyAddress& out, const common::Endpoint& to) {
    std::memset(&out, 0, sizeof out);
    if (!to.path.empty()) {
        out.local.sun_family = AF_UNIX;
        to.path.copy(out.local.sun_path, sizeof out.local.sun_path - 1); // no longer, by the configuration
        return sizeof out.local;
    }
    const auto* bytes = to.address.bytes.data();
    if (to.address.is_v4()) {
        out.v4.sin_family = AF_INET;
        out.v4.sin_port = htons(to.port);
        std::memcpy(&out.v4.sin_addr, bytes + 12, 4);
        return sizeof out.v4;
    }
    out.v6.sin6_family = AF_INET6;
    out.v6.sin6_port = htons(to.port);
    std::memcpy(&out.v6.sin6_addr, bytes, 16);
    return sizeof out.v6;
}

} // namespace

std::expected<std::unique_ptr<Socket>, ConnectError>
Socket::connect(common::Loop& loop, const common::Endpoint& to, const common::IpAddress* source, Callbacks callbacks) {
    const auto refused = [](const char* action) {
        return std::unexpected(ConnectError{spool::Error::from_errno(action)});
    };
    AnyAddress address;
    const auto size = fill(address, to);
    common::Fd fd(::socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) return refused("socket");
    const int on = 1; // a command behind a message must not wait for the message's acknowledgement
    if (to.path.empty()) ::setsockopt(fd.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (source) {
        // The port is chosen when the peer is known: the same one serves towards many.
        ::setsockopt(fd.number(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        AnyAddress own;
        const auto own_size = fill(own, {*source, 0});
        if (::bind(fd.number(), &own.any, own_size) != 0) {
            auto error = spool::Error::from_errno("bind");
            // connect() gives the same code when no port is left; that is not about the source.
            const auto cause =
                error.code == EADDRNOTAVAIL ? ConnectError::Cause::source_unavailable : ConnectError::Cause::other;
            return std::unexpected(ConnectError{std::move(error), cause});
        }
    }
    if (::connect(fd.number(), &address.any, size) != 0 && errno != EINPROGRESS) return refused("connect");
    auto socket = std::unique_ptr<Socket>(new Socket(loop, std::move(fd), std::move(callbacks)));
    if (!socket->poll_) return std::unexpected(ConnectError{{ENOMEM, "the event loop accepts no more descriptors"}});
    return socket;
}

Socket::Socket(common::Loop& loop, common::Fd fd, Callbacks callbacks)
    : callbacks_(std::move(callbacks)), fd_(std::move(fd)), poll_(common::make_poll(loop.uv(), this, fd_.number())) {
    if (poll_) poll(UV_WRITABLE);
}

void Socket::poll(int events) {
    if (polled_ == events) return;
    polled_ = events;
    uv_poll_start(poll_.get(), events, [](uv_poll_t* p, int status, int ready) {
        if (auto* self = common::owner_of<Socket>(p)) self->ready(status, ready);
    });
}

void Socket::ready(int status, int events) {
    if (status < 0) polled_ = 0; // libuv has stopped it after an error of the socket …
    if (connecting_) {
        connecting_ = false;
        int error = 0;
        socklen_t size = sizeof error;
        ::getsockopt(fd_.number(), SOL_SOCKET, SO_ERROR, &error, &size);
        if (error == 0 && status < 0) error = -status;
        poll(UV_READABLE);
        return callbacks_.connected(error);
    }
    if (events & UV_WRITABLE) {
        poll(UV_READABLE); // if there is something to read as well, the next turn says so again
        return callbacks_.writable();
    }
    poll(UV_READABLE);     // … before which there may be bytes: ask again until
    callbacks_.readable(); // the error shows itself in a read
}

ssize_t Socket::read(std::span<char> into) {
    ssize_t n;
    do n = ::recv(fd_.number(), into.data(), into.size(), 0);
    while (n < 0 && errno == EINTR);
    return n;
}

ssize_t Socket::write(const std::vector<std::string_view>& views) {
    constexpr std::size_t most = 64;
    iovec parts[most];
    std::size_t total = 0, sent = 0;
    for (auto view : views) total += view.size();
    for (std::size_t at = 0; at < views.size();) {
        const std::size_t count = std::min(most, views.size() - at);
        std::size_t wanted = 0;
        for (std::size_t i = 0; i < count; ++i) {
            parts[i] = {const_cast<char*>(views[at + i].data()), views[at + i].size()};
            wanted += views[at + i].size();
        }
        msghdr message{};
        message.msg_iov = parts;
        message.msg_iovlen = count;
        ssize_t n;
        do n = ::sendmsg(fd_.number(), &message, MSG_NOSIGNAL);
        while (n < 0 && errno == EINTR);
        if (n < 0 && errno != EAGAIN && sent == 0) return -1; // else the next write tells
        sent += n > 0 ? static_cast<std::size_t>(n) : 0;
        if (n < 0 || static_cast<std::size_t>(n) < wanted) break;
        at += count;
    }
    if (sent < total) poll(UV_READABLE | UV_WRITABLE);
    return static_cast<ssize_t>(sent);
}

std::string Socket::local_address() const {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (::getsockname(fd_.number(), reinterpret_cast<sockaddr*>(&own), &size) != 0) return "";
    const auto address = common::IpAddress::of(reinterpret_cast<const sockaddr*>(&own));
    return address ? address->to_string() : "";
}

} // namespace smtp_client
