#include "daemons/common/net/acceptor.h"
#include <cerrno>
#include <chrono>
#include <sys/socket.h>
#include <utility>

namespace common {

using namespace std::chrono_literals;

namespace {

constexpr int batch = 64; // connections a turn
constexpr smtp::Duration pause_time = 200ms;

} // namespace

Acceptor::Acceptor(Loop& loop, Fd fd, Accepted accepted, OnShortage on_shortage)
    : fd_(std::move(fd)), accepted_(std::move(accepted)), on_shortage_(std::move(on_shortage)),
      poll_(make_poll(loop.uv(), this, fd_.number())), pause_(loop, [this] { listen(); }) {
    listen();
}

void Acceptor::listen() {
    if (!poll_) return;
    uv_poll_start(poll_.get(), UV_READABLE, [](uv_poll_t* poll, int, int) {
        if (auto* self = owner_of<Acceptor>(poll)) self->accept();
    });
}

bool Acceptor::accept() {
    if (!poll_) return false;
    for (int i = 0; i < batch; ++i) {
        Fd socket(::accept4(fd_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (socket) {
            accepted_(std::move(socket));
            continue;
        }
        if (errno == EAGAIN) return false;
        if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
        const int error = errno;
        uv_poll_stop(poll_.get()); // else it would spin
        pause_.start(pause_time);
        if (on_shortage_) on_shortage_(error);
        return false;
    }
    return true;
}

} // namespace common
