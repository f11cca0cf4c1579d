// A service on a UNIX socket that a test plays (a milter, a policy server), on the loop of whoever talks to it.
#pragma once
#include "daemons/common/net/local_socket.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/uv_handle.h"
#include <doctest/doctest.h>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

class FakeService {
public:
    FakeService(common::Loop& loop, const std::string& path) : loop_(loop) {
        auto fd = common::listen_local(path, 0600);
        REQUIRE(fd);
        listening_ = std::move(*fd);
        poll_ = common::make_poll(loop.uv(), this, listening_.number());
        uv_poll_start(poll_.get(), UV_READABLE, [](uv_poll_t* poll, int, int) {
            if (auto* self = common::owner_of<FakeService>(poll)) self->accept();
        });
    }
    FakeService(const FakeService&) = delete;

    // What comes on a connection, by its number from 0; and that the other end has closed it.
    std::function<void(std::size_t connection, std::string_view bytes)> heard;
    std::function<void(std::size_t connection)> closed = [](std::size_t) {};

    void say(std::size_t connection, std::string_view bytes) {
        static_cast<void>(::send(connections_[connection]->fd.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
    }
    void hang_up(std::size_t connection) {
        connections_[connection]->poll.reset();
        connections_[connection]->fd.reset();
    }
    std::size_t connections() const { return connections_.size(); } // so far
    bool open(std::size_t connection) const { return bool(connections_[connection]->fd); }

private:
    struct Connection {
        FakeService* service;
        std::size_t number;
        common::Fd fd;
        common::Handle<uv_poll_t> poll;
    };
    void accept() {
        common::Fd fd(::accept4(listening_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!fd) return;
        auto& made = *connections_.emplace_back(
            std::make_unique<Connection>(Connection{this, connections_.size(), std::move(fd), {}}));
        made.poll = common::make_poll(loop_.uv(), &made, made.fd.number());
        uv_poll_start(made.poll.get(), UV_READABLE, [](uv_poll_t* poll, int, int) {
            if (auto* connection = common::owner_of<Connection>(poll)) connection->service->read(*connection);
        });
    }
    void read(Connection& connection) {
        char buffer[70'000];
        const auto n = ::recv(connection.fd.number(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (n > 0) return heard(connection.number, {buffer, static_cast<std::size_t>(n)});
        if (n < 0 && errno == EAGAIN) return;
        hang_up(connection.number);
        closed(connection.number);
    }

    common::Loop& loop_;
    common::Fd listening_;
    common::Handle<uv_poll_t> poll_;
    std::vector<std::unique_ptr<Connection>> connections_;
};
