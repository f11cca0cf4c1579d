#include "daemons/smtp-client/connect/tls_stream.h"
#include <cerrno>
#include <cstring>

namespace smtp_client {
namespace {
constexpr std::size_t sealed_at_a_time = 32 * 1024;
constexpr std::size_t plain_at_a_time = 64 * 1024; // sealed and waiting for the kernel, at most
} // namespace

using Progress = tls::Session::Progress;

std::expected<std::unique_ptr<TlsStream>, ConnectError> TlsStream::connect(common::Loop& loop,
                                                                           const common::Endpoint& to,
                                                                           const common::IpAddress* source,
                                                                           Socket::Callbacks callbacks) {
    std::unique_ptr<TlsStream> wire(new TlsStream);
    auto writable = [self = wire.get(), tell = std::move(callbacks.writable)] {
        if (self->flush() != Flushed::some) tell();
    };
    wire->socket_ = TRY(Socket::connect(
        loop, to, source, {std::move(callbacks.connected), std::move(callbacks.readable), std::move(writable)}));
    return wire;
}

TlsStream::~TlsStream() {
    if (!tls_) return;
    tls_->close();
    flush();
}

ssize_t TlsStream::read_encrypted() {
    char space[sealed_at_a_time]; // what thousands of connections keep is only what has come
    const auto n = socket_->read(space);
    received_.assign(space, n > 0 ? static_cast<std::size_t>(n) : 0);
    tls_->feed(received_);
    return n;
}

ssize_t TlsStream::read(std::span<char> into) {
    if (!tls_) return socket_->read(into);
    while (true) {
        std::size_t taken = 0;
        const auto progress = tls_->read(into, taken);
        flush(); // TLS may have an answer of its own
        switch (progress) {
        case Progress::done: return static_cast<ssize_t>(taken);
        case Progress::closed: return 0;
        case Progress::failed: errno = EPROTO; return -1;
        case Progress::wants_more: break;
        }
        if (const auto n = read_encrypted(); n <= 0) return n;
    }
}

TlsStream::Flushed TlsStream::flush() {
    if (!tls_) return Flushed::all;
    outgoing_ += tls_->output();
    if (outgoing_.empty()) return Flushed::all;
    const auto n = socket_->write({outgoing_});
    if (n < 0) return Flushed::broken;
    outgoing_.erase(0, static_cast<std::size_t>(n));
    return outgoing_.empty() ? Flushed::all : Flushed::some;
}

ssize_t TlsStream::write(const std::vector<std::string_view>& views) {
    if (!tls_) return socket_->write(views);
    std::size_t taken = 0, gathered = 0;
    auto flushed = flush();
    for (auto view : views)
        while (flushed == Flushed::all && !view.empty()) {
            const auto piece = view.substr(0, plain_at_a_time - gathered);
            view.remove_prefix(piece.size());
            if (!tls_->write(piece)) {
                errno = EPROTO;
                return -1;
            } // a gap would pass for the message
            taken += piece.size();
            gathered += piece.size();
            if (gathered < plain_at_a_time) continue;
            gathered = 0;
            flushed = flush();
        }
    if (flushed == Flushed::all) flushed = flush();
    return flushed == Flushed::broken ? -1 : static_cast<ssize_t>(taken);
}

void TlsStream::start_tls(std::unique_ptr<tls::Session> session) { tls_ = std::move(session); }

TlsStream::Handshake TlsStream::continue_handshake() {
    auto failed = [&](std::string why) {
        handshake_error_ = std::move(why);
        flush(); // an alert says to the peer what it was
        return Handshake::failed;
    };
    while (true) {
        const auto progress = tls_->handshake();
        if (progress == Progress::done) break;
        if (progress != Progress::wants_more) return failed(tls_->error());
        flush();
        const auto n = read_encrypted();
        if (n == 0) return failed("the connection was closed");
        if (n < 0) return errno == EAGAIN ? Handshake::under_way : failed(std::strerror(errno));
    }
    flush();
    // What came with the handshake's last packet: tickets, but not a word before we have spoken.
    char unasked[1];
    std::size_t taken = 0;
    switch (tls_->read(unasked, taken)) {
    case Progress::wants_more: return Handshake::done;
    case Progress::done: return failed("the server sent data before the client");
    case Progress::closed: return failed("the connection was closed");
    case Progress::failed: return failed(tls_->error());
    }
    return Handshake::failed;
}

} // namespace smtp_client
