#include "daemons/smtpd/access/acceptor.h"
#include <cerrno>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace smtpd {

using namespace std::chrono_literals;

static constexpr int batch = 64; // connections per turn and listener

static common::Fd spare() { return common::Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

std::unique_ptr<Acceptor> Acceptor::create(common::Loop& loop, common::Fd fd, Accepted accepted,
                                           OnShortage on_shortage) {
    std::unique_ptr<Acceptor> acceptor(new Acceptor(loop, std::move(fd), std::move(accepted), std::move(on_shortage)));
    if (!acceptor->poll_) return nullptr;
    acceptor->listen();
    return acceptor;
}

Acceptor::Acceptor(common::Loop& loop, common::Fd fd, Accepted accepted, OnShortage on_shortage)
    : fd_(std::move(fd)), spare_descriptor_(spare()), accepted_(std::move(accepted)),
      on_shortage_(std::move(on_shortage)), poll_(common::make_poll(loop.uv(), this, fd_.number())),
      pause_(loop, [this] { listen(); }) {
    const int on = 1; // inherited by what is accepted: replies are written whole
    ::setsockopt(fd_.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void Acceptor::listen() {
    if (!spare_descriptor_) spare_descriptor_ = spare();
    uv_poll_start(poll_.get(), UV_READABLE, [](uv_poll_t* handle, int, int) {
        if (auto* self = common::owner_of<Acceptor>(handle)) self->accept();
    });
}

void Acceptor::accept() {
    for (int i = 0; i < batch; ++i) {
        sockaddr_storage address{};
        socklen_t length = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        common::Fd socket(::accept4(fd_.number(), generic, &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) {
            if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
            if (errno == EINVAL)
                pause(); // master shut the socket down: its next orders name others
            else if (errno != EAGAIN && errno != EWOULDBLOCK)
                shed_connection(errno);
            return;
        }
        const auto from = common::IpAddress::of(generic);
        const auto port = address.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&address)->sin_port
                                                       : reinterpret_cast<sockaddr_in6*>(&address)->sin6_port;
        if (from) accepted_(std::move(socket), {*from, ntohs(port)});
    }
}

void Acceptor::pause() {
    uv_poll_stop(poll_.get());
    pause_.start(100ms);
}

// EMFILE, ENFILE, ENOMEM, ENOBUFS.
void Acceptor::shed_connection(int error) {
    spare_descriptor_.reset();
    for (int i = 0; i < batch; ++i) {
        common::Fd socket(::accept4(fd_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) break;
        static_cast<void>(::send(socket.number(), busy_.data(), busy_.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    }
    spare_descriptor_ = spare();
    pause();
    const auto now = common::Loop::now().monotonic;
    if (now - last_shortage_report_ < 1s) return;
    last_shortage_report_ = now;
    on_shortage_(error);
}

} // namespace smtpd
