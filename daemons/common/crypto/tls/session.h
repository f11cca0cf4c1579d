// One TLS session without a socket: encrypted bytes go in and come out, plain ones come out and go in.
// For the server's side and the client's. Knows OpenSSL; must not know SMTP, loop or file descriptors.
#pragma once
#include "daemons/common/crypto/tls/context.h"
#include "daemons/common/crypto/tls/server_identity.h"
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tls {

// A certificate that a client has shown us: what it says of itself, and what we think of it.
struct ClientCertificate {
    std::string subject, issuer; // common names, printable; "" none
    // SHA-256, as openssl-x509(1) and Postfix write them: "AB:CD:…"; of the certificate, and of its public key.
    std::string fingerprint, key_fingerprint;
    smtp::WallTime begins, expires;
    std::string problem; // why no authority of ours vouches for it: "self-signed certificate"; "" one does

    // Why it is not valid at that time; "" it is. Whether it is trusted is another matter.
    std::string why_not_valid(smtp::WallTime now) const;
};

// What was agreed on, for logs, Received: and policy.
struct ConnectionInfo {
    std::string version, cipher;
    int bits = 0, cipher_bits = 0; // in use, of the cipher
    bool resumed = false;
    std::string server_name; // asked for by the client; "" none
    // Of us, the client, in this handshake; a resumed session has what it began with.
    enum class OwnCertificate : std::uint8_t { not_requested, missing, shown } own = OwnCertificate::not_requested;
    enum class Peer : std::uint8_t { anonymous, untrusted, trusted } peer = Peer::anonymous;
    std::string peer_name;                                          // trusted: the certificate's common name, printable
    std::shared_ptr<const ClientCertificate> certificate = nullptr; // the server's: the client's; null: none

    std::string text() const; // "TLSv1.3 with cipher TLS_AES_256_GCM_SHA384 (256/256 bits)"
};

class Session {
public:
    // The server's side. Null if OpenSSL has no memory for it.
    static std::unique_ptr<Session> accept(std::shared_ptr<const Context> context);
    // The client's. `from`: an earlier session with the same server, made under the same expectations, or null.
    static std::unique_ptr<Session> connect(std::shared_ptr<const Context> context, ServerIdentity identity,
                                            SSL_SESSION* from);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // Sealed bytes from the peer; a view that must stay valid while handshake() and read() use it up. Call
    // these until they want more before the next feed().
    void feed(std::string_view sealed) { in_ = sealed; }

    enum class Progress : std::uint8_t {
        done,
        wants_more, // all input is used up
        closed,     // by the peer, in good order
        failed,     // error() says why
    };
    Progress handshake();
    // done: `plain` holds the first `taken` bytes.
    Progress read(std::span<char> space, std::size_t& taken);

    // Only once the handshake is done. False: not all of it was sealed, and nothing more may be written.
    bool write(std::string_view plain);
    // Says goodbye; nothing may be written after it.
    void close();

    // Sealed bytes for the peer, taken away.
    bool has_output() const { return !out_.empty(); }
    std::string output() { return std::exchange(out_, {}); }

    bool is_of(const Context* context) const { return context_.get() == context; }
    ConnectionInfo info() const;
    CertificateVerdict verdict() const {
        return verify_certificate(ssl_.get(), identity_);
    } // the client's, after the handshake
    const std::string& error() const { return error_; }
    // The client's: what the next session with this host may begin with, taken away; null: nothing (yet).
    ResumableSession resumable_session() { return std::move(resumable_session_); }
    // For SCRAM-…-PLUS (RFC 9266, RFC 5929): "tls-exporter" or "tls-server-end-point"; "" if there is none.
    std::string channel_binding(std::string_view type) const;

private:
    friend class Context;
    static int keep_resumable_session(SSL* ssl, SSL_SESSION* fresh);
    std::shared_ptr<const ClientCertificate> certificate_of(X509* peer) const;
    static int note_certificate_request(SSL*, void* self);
    bool attach_bio();
    explicit Session(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
    static BIO_METHOD* method();
    Progress ended(int result);

    std::shared_ptr<const Context> context_;
    ServerIdentity identity_; // the client's
    std::unique_ptr<SSL, Deleter<SSL_free>> ssl_;
    std::string_view in_;
    std::string out_, error_;
    ResumableSession resumable_session_;
    bool up_ = false, certificate_requested_ = false;
};

} // namespace tls
