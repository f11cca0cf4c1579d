// A connection's bytes on their way: in plain text straight to and from the socket, or by TLS from start_tls()
// on. Knows no SMTP, nor what a certificate is worth.
#pragma once
#include "daemons/common/crypto/tls/session.h"
#include "daemons/smtp-client/connect/socket.h"

namespace smtp_client {

class TlsStream {
public:
    // As Socket's, to which they belong. While hands are shaken only continue_handshake() may be called.
    static std::expected<std::unique_ptr<TlsStream>, ConnectError> connect(common::Loop& loop,
                                                                           const common::Endpoint& to,
                                                                           const common::IpAddress* source,
                                                                           Socket::Callbacks callbacks);
    ~TlsStream(); // says goodbye if that can go at once
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    // Bytes; 0: the peer has closed; -1: errno (EAGAIN: nothing yet). read() until that where TLS is up: what
    // the socket has given may hold more.
    ssize_t read(std::span<char> into);
    // Bytes taken; -1: errno. Less than all: writable() will be called.
    ssize_t write(const std::vector<std::string_view>& views);

    void start_tls(std::unique_ptr<tls::Session> session);
    enum class Handshake { under_way, done, failed };
    Handshake continue_handshake();
    const std::string& handshake_error() const { return handshake_error_; }
    std::string local_address() const { return socket_->local_address(); }
    tls::Session* tls() const { return tls_.get(); } // null: plain text

private:
    TlsStream() = default;
    enum class Flushed { all, some, broken }; // some: writable() will be called; broken: errno
    Flushed flush();
    ssize_t read_encrypted(); // more of them for TLS; as Socket::read()

    std::unique_ptr<Socket> socket_;
    std::unique_ptr<tls::Session> tls_;
    std::string outgoing_; // for the peer, not yet taken by the kernel
    std::string received_; // from the peer, with TLS while it lasts
    std::string handshake_error_;
};

} // namespace smtp_client
