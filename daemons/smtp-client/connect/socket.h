// A connection of ours, by TCP or through a UNIX socket, as a descriptor and its readiness: what is written goes to
// the kernel straight from where it lies, and nothing is copied to wait. Knows no SMTP.
#pragma once
#include "daemons/common/net/network.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/uv_handle.h"
#include "libspool/disk/result.h"
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smtp_client {

// Why there is no connection.
struct ConnectError {
    enum class Cause : std::uint8_t {
        other,
        source_unavailable
    }; // the latter: this host does not have the source address
    spool::Error error;
    Cause cause = Cause::other;
};

class Socket {
public:
    struct Callbacks {
        std::function<void(int error)> connected; // 0, or an errno. Once
        std::function<void()> readable;
        std::function<void()> writable; // after write() could not take everything
    };
    // Every callback may destroy the socket, as the last thing it does. `source`: the address of this host that it
    // comes from, of the same family; null: the
    // kernel's choice.
    static std::expected<std::unique_ptr<Socket>, ConnectError>
    connect(common::Loop& loop, const common::Endpoint& to, const common::IpAddress* source, Callbacks callbacks);
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    std::string local_address() const; // ours, without the port; "" if the kernel does not say

    // Bytes; 0: the peer has closed; -1: errno (EAGAIN: nothing yet).
    ssize_t read(std::span<char> into);
    // Bytes taken; -1: errno. Less than all, or EAGAIN: writable() will be called.
    ssize_t write(const std::vector<std::string_view>& views);

private:
    Socket(common::Loop& loop, common::Fd fd, Callbacks callbacks);
    void poll(int events);
    void ready(int status, int events);

    Callbacks callbacks_;
    common::Fd fd_;
    common::Handle<uv_poll_t> poll_; // closed before the descriptor
    int polled_ = 0;
    bool connecting_ = true;
};

} // namespace smtp_client
