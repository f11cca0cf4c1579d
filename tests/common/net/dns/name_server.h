// A name server on loopback for tests, on the loop of whoever asks it.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/uv_handle.h"
#include "tests/common/net/dns/packet.h"
#include <arpa/inet.h>
#include <functional>
#include <set>
#include <string>
#include <string_view>

// A name server on loopback, on the same loop. Answers as `behave` says; "" says nothing.
struct NameServer {
    explicit NameServer(common::Loop& loop) {
        udp = common::make_handle<uv_udp_t>(this, [&](uv_udp_t* h) { return uv_udp_init(&loop.uv(), h); });
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        uv_udp_bind(udp.get(), reinterpret_cast<sockaddr*>(&any), 0);
        int size = sizeof any;
        uv_udp_getsockname(udp.get(), reinterpret_cast<sockaddr*>(&any), &size);
        port = ntohs(any.sin_port);
        uv_udp_recv_start(
            udp.get(),
            [](uv_handle_t* h, size_t, uv_buf_t* buffer) {
                *buffer = uv_buf_init(common::owner_of<NameServer>(h)->space, sizeof space);
            },
            [](uv_udp_t* h, ssize_t n, const uv_buf_t* buffer, const sockaddr* from, unsigned) {
                if (n > 12 && from)
                    common::owner_of<NameServer>(h)->received({buffer->base, static_cast<std::size_t>(n)}, from);
            });
        uv_unref(reinterpret_cast<uv_handle_t*>(udp.get()));
    }
    void received(std::string_view query, const sockaddr* from) {
        packet::Message message;
        message.id = static_cast<unsigned char>(query[0]) << 8 | static_cast<unsigned char>(query[1]);
        std::size_t at = 12;
        while (query[at] != 0) {
            if (!message.question.empty()) message.question += '.';
            message.question += query.substr(at + 1, static_cast<unsigned char>(query[at]));
            at += 1 + static_cast<unsigned char>(query[at]);
        }
        message.type = static_cast<unsigned char>(query[at + 1]) << 8 | static_cast<unsigned char>(query[at + 2]);
        ++asked;
        ids.insert(message.id);
        asked_to_validate = (static_cast<unsigned char>(query[3]) & 0x20) != 0;
        edns = edns || query.substr(at + 5).find(std::string("\0\0\x29", 3)) != query.npos;
        auto bytes = behave(message);
        if (bytes.empty()) return;
        auto buffer = uv_buf_init(bytes.data(), static_cast<unsigned>(bytes.size()));
        uv_udp_try_send(udp.get(), &buffer, 1, from);
    }
    config::Dns settings() const {
        config::Dns out;
        out.servers = {*common::Endpoint::parse("127.0.0.1:" + std::to_string(port))};
        out.timeout = std::chrono::milliseconds(100);
        out.tries = 2;
        return out;
    }

    common::Handle<uv_udp_t> udp;
    std::uint16_t port = 0;
    int asked = 0;
    std::set<unsigned> ids; // of the queries
    bool edns = false;
    bool asked_to_validate = false; // by the last question
    char space[2048];
    std::function<std::string(packet::Message&)> behave;
};
