// What the TLS sessions of one listener share: certificates by name, keys for tickets,
// versions and ciphers; or, for one client, the trusted authorities. Immutable; sessions
// keep theirs alive, so new certificates are simply a new Context. Knows no sockets.
#pragma once
#include "daemons/common/proto/secrets.h"
#include "libsmtp/text/time_types.h"
#include "libspool/disk/result.h"
#include <memory>
#include <openssl/ssl.h>
#include <optional>
#include <string>
#include <vector>

namespace tls {

template <auto Free> struct Deleter {
    template <class T> void operator()(T* what) const { Free(what); }
};
using SslContext = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>>;
// A session that a client can resume. It includes the result of the certificate's verification.
using ResumableSession = std::unique_ptr<SSL_SESSION, Deleter<SSL_SESSION_free>>;

enum class Version : std::uint8_t { tls_1_2, tls_1_3 };
enum class ClientCertificates : std::uint8_t { no, ask };

struct ServerOptions {
    std::string purpose; // the listener: its tickets are not valid at another
    Version minimum = Version::tls_1_2;
    std::string ciphers; // as for OpenSSL, for TLS 1.2; "": its default
    bool tickets = true;
    std::uint32_t ticket_lifetime = 3600; // seconds
    ClientCertificates client_certificates = ClientCertificates::no;
};

class Context;

struct ClientOptions {
    Version minimum = Version::tls_1_2;
    std::string ciphers;     // as above
    std::string authorities; // PEM; "": no certificate is trusted
    // Shown to servers that ask for one, at most one for each kind of key; under TLS 1.2 the first. Empty: none.
    std::vector<proto::secrets::Certificate> certificates = {};
    // Not null: its authorities are used, which are many, instead of those above.
    const Context* same_authorities = nullptr;
};

class Context {
public:
    // Servers' certificates are verified but never rejected: the policy decides what the result means.
    static spool::Result<std::shared_ptr<const Context>> client(const ClientOptions& options);
    // The first certificate is for clients that request none of the names.
    static spool::Result<std::shared_ptr<const Context>> server(const proto::secrets::Server& secrets,
                                                                const ServerOptions& options);
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    SSL_CTX* first() const { return contexts_.front().get(); }
    // A client's: which certificates it shows, as a digest of them; "" none. Equal ones are the same client to a
    // server.
    const std::string& certificates_shown() const { return shown_; }

private:
    Context() = default;
    static spool::Result<> harden(SSL_CTX* context, Version minimum, const std::string& ciphers, std::string_view key);
    spool::Result<> add(const proto::secrets::Certificate& certificate, const ServerOptions& options,
                        const std::string& authorities);
    static int choose(SSL* ssl, int*, void* self);
    static int ticket_key(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                          int sealing);

    std::vector<SslContext> contexts_; // one per certificate
    std::vector<proto::secrets::TicketKey> ticket_keys_;
    std::string shown_;
};

// Does this chain contain certificates, and does the key match? Master checks this before it passes them on. The error
// names `key_file`.
spool::Result<> check(const proto::secrets::Certificate& certificate, const std::string& key_file);
// Can they be shown to servers together? Each is known to be usable by itself.
spool::Result<> check_together(const std::vector<proto::secrets::Certificate>& certificates);
// May the first certificate of this chain be used by a client? Many are issued for servers only.
bool is_for_clients(const std::string& chain);
struct CertificateFacts {
    std::string subject; // "CN=mail.example.org"
    smtp::WallTime expires;
};
// Of each certificate in a text (PEM), at most `most`.
std::vector<CertificateFacts> certificate_facts(const std::string& text, std::size_t most);
// When the first certificate of this chain expires; nothing: the chain contains none.
std::optional<smtp::WallTime> certificate_expiry(const std::string& chain);
// Can these certificates (PEM) serve as authorities? The error names `file`.
spool::Result<> check_authorities(const std::string& text, const std::string& file);
// Does this list (openssl-ciphers(1)) select a cipher of TLS 1.2? "" does. `key`: the configuration key, for the error.
spool::Result<> check_ciphers(const std::string& ciphers, std::string_view key);

// OpenSSL's error queue as one line; empties it.
std::string last_error();

} // namespace tls
