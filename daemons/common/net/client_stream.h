// A connection to an external service (a policy server, a filter), on the loop: connects (or was accepted here),
// sends, delivers what arrives. Knows bytes only; timeouts are its owner's business.
#pragma once
#include "daemons/common/net/service_address.h"
#include "daemons/common/net/stream_writer.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/uv_handle.h"
#include <functional>
#include <string>
#include <string_view>

namespace common {

class ClientStream {
public:
    // Each may destroy the stream. `closed` is called once, last, and never from within the constructor or
    // send().
    struct Callbacks {
        std::function<void(std::string_view)> data;
        std::function<void(const std::string& why)> closed;
    };
    ClientStream(Loop& loop, const ServiceAddress& address, Callbacks callbacks);
    // A UNIX socket that was accepted; `name` is for messages.
    ClientStream(Loop& loop, Fd accepted, std::string name, Callbacks callbacks);
    ~ClientStream();
    ClientStream(const ClientStream&) = delete;

    // Before the connection stands as well: then it leaves as soon as it does.
    void send(std::string bytes);
    // Did it ever stand?
    bool connected() const { return connected_; }
    // Sent, and not yet taken by the kernel.
    std::size_t waiting() const { return writer_.unsent(); }
    // Called whenever what was waiting has gone.
    void on_drained(std::function<void()> drained) { drained_ = std::move(drained); }

private:
    struct Connect;
    ClientStream(Loop& loop, std::string name, Callbacks&& callbacks);
    uv_stream_t* stream() const { return pipe_ ? stream_of(pipe_) : stream_of(tcp_); }
    int open_local(const std::string& path); // libuv's error
    int open_pipe(Fd fd);
    void connected(int status);
    void flush();
    void written(int status);
    void fail(std::string why);

    Loop& loop_;
    Callbacks callbacks_;
    std::function<void()> drained_;
    std::string name_;
    Handle<uv_pipe_t> pipe_;
    Handle<uv_tcp_t> tcp_;
    Connect* connect_ = nullptr;
    StreamWriter writer_;
    bool connected_ = false, failed_ = false;
    std::string why_;
    TurnHook close_hook_;
};

} // namespace common
