#include "daemons/common/net/client_stream.h"
#include "daemons/common/net/local_socket.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <utility>

namespace common {

struct ClientStream::Connect {
    uv_connect_t request;
    ClientStream* owner;
};

static sockaddr_storage sockaddr_of(const Endpoint& endpoint) {
    sockaddr_storage space{};
    if (endpoint.address.is_v4()) {
        auto& v4 = reinterpret_cast<sockaddr_in&>(space);
        v4.sin_family = AF_INET;
        v4.sin_port = htons(endpoint.port);
        std::copy(endpoint.address.bytes.begin() + 12, endpoint.address.bytes.end(),
                  reinterpret_cast<std::uint8_t*>(&v4.sin_addr));
    } else {
        auto& v6 = reinterpret_cast<sockaddr_in6&>(space);
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(endpoint.port);
        std::copy(endpoint.address.bytes.begin(), endpoint.address.bytes.end(),
                  reinterpret_cast<std::uint8_t*>(&v6.sin6_addr));
    }
    return space;
}

ClientStream::ClientStream(Loop& loop, std::string name, Callbacks&& callbacks)
    : loop_(loop), callbacks_(std::move(callbacks)), name_(std::move(name)),
      writer_([this](int status) { written(status); }), close_hook_(loop, [this] {
          const auto closed = std::move(callbacks_.closed);
          const auto why = std::move(why_);
          if (closed) closed(why); // may destroy this
      }) {}

ClientStream::ClientStream(Loop& loop, Fd accepted, std::string name, Callbacks callbacks)
    : ClientStream(loop, std::move(name), std::move(callbacks)) {
    if (const int status = open_pipe(std::move(accepted)); status != 0) fail(uv_strerror(status));
}

ClientStream::ClientStream(Loop& loop, const ServiceAddress& address, Callbacks callbacks)
    : ClientStream(loop, address.to_string(), std::move(callbacks)) {
    const auto done = [](uv_connect_t* request, int status) {
        auto* connect = reinterpret_cast<Connect*>(request);
        auto* owner = connect->owner;
        delete connect;
        if (!owner) return;
        owner->connect_ = nullptr;
        owner->connected(status);
    };
    connect_ = new Connect{{}, this};
    int status = UV_ENOMEM;
    if (!address.path.empty()) {
        status = open_local(address.path);
        delete std::exchange(connect_, nullptr);
    } else {
        tcp_ = make_tcp(loop.uv(), this);
        const auto space = sockaddr_of(address.endpoint);
        if (tcp_) {
            uv_tcp_nodelay(tcp_.get(), 1);
            status = uv_tcp_connect(&connect_->request, tcp_.get(), reinterpret_cast<const sockaddr*>(&space), done);
        }
    }
    if (status == 0) return;
    delete std::exchange(connect_, nullptr);
    fail(std::string("cannot be reached: ") + uv_strerror(status));
}

// A UNIX socket accepts a connection at once or not at all; if its queue is full, it does not.
int ClientStream::open_local(const std::string& path) {
    auto fd = connect_local(path);
    if (!fd) return uv_translate_sys_error(fd.error().code);
    return open_pipe(*std::move(fd));
}

int ClientStream::open_pipe(Fd fd) {
    pipe_ = make_pipe(loop_.uv(), this);
    if (!pipe_) return UV_ENOMEM;
    if (const int status = uv_pipe_open(pipe_.get(), fd.number()); status != 0) return status;
    static_cast<void>(fd.release());
    connected(0);
    return 0;
}

ClientStream::~ClientStream() {
    if (connect_) connect_->owner = nullptr;
}

void ClientStream::connected(int status) {
    if (status != 0) return fail(std::string("cannot be reached: ") + uv_strerror(status));
    connected_ = true;
    uv_read_start(
        stream(),
        [](uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
            auto* self = owner_of<ClientStream>(handle);
            if (!self) return void(*buffer = uv_buf_init(nullptr, 0));
            const auto space = self->loop_.read_buffer();
            *buffer = uv_buf_init(space.data(), static_cast<unsigned>(space.size()));
        },
        [](uv_stream_t* handle, ssize_t n, const uv_buf_t* buffer) {
            auto* self = owner_of<ClientStream>(handle);
            if (!self || n == 0 || self->failed_) return;
            if (n < 0)
                self->fail(n == UV_EOF ? "closed the connection" : uv_strerror(static_cast<int>(n)));
            else if (self->callbacks_.data)
                self->callbacks_.data({buffer->base, static_cast<std::size_t>(n)});
        });
    flush();
}

void ClientStream::send(std::string bytes) {
    if (failed_) return;
    auto& pending = writer_.pending();
    if (pending.empty())
        pending = std::move(bytes);
    else
        pending += bytes;
    flush();
}

void ClientStream::flush() {
    if (!connected_ || failed_) return;
    if (const int status = writer_.start(stream()); status != 0) fail(uv_strerror(status));
}

void ClientStream::written(int status) {
    if (status < 0) return fail(uv_strerror(status));
    flush();
    if (waiting() == 0 && drained_) drained_();
}

void ClientStream::fail(std::string why) {
    if (std::exchange(failed_, true)) return;
    why_ = name_ + ": " + why;
    if (connected_) uv_read_stop(stream());
    close_hook_.schedule();
}

} // namespace common
