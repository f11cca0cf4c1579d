#include "daemons/common/crypto/tls/session.h"
#include "libsmtp/text/date.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

namespace tls {

// OpenSSL's view of the connection: our own two buffers, without a copy on the way in.
BIO_METHOD* Session::method() {
    static BIO_METHOD* const made = [] {
        auto* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "postrider");
        BIO_meth_set_read(m, [](BIO* bio, char* to, int size) {
            auto& in = static_cast<Session*>(BIO_get_data(bio))->in_;
            BIO_clear_retry_flags(bio);
            if (in.empty()) {
                BIO_set_retry_read(bio);
                return -1;
            }
            const auto n = std::min(in.size(), static_cast<std::size_t>(size));
            std::memcpy(to, in.data(), n);
            in.remove_prefix(n);
            return static_cast<int>(n);
        });
        BIO_meth_set_write(m, [](BIO* bio, const char* from, int size) {
            static_cast<Session*>(BIO_get_data(bio))->out_.append(from, static_cast<std::size_t>(size));
            return size;
        });
        BIO_meth_set_ctrl(m, [](BIO*, int command, long, void*) -> long { return command == BIO_CTRL_FLUSH; });
        return m;
    }();
    return made;
}

// Makes OpenSSL's half and puts our wire into it.
bool Session::attach_bio() {
    ssl_.reset(SSL_new(context_->first()));
    auto* wire = BIO_new(method());
    if (!ssl_ || !wire) {
        BIO_free(wire);
        return false;
    }
    BIO_set_data(wire, this);
    BIO_set_init(wire, 1);
    SSL_set_bio(ssl_.get(), wire, wire);
    return true;
}

std::unique_ptr<Session> Session::accept(std::shared_ptr<const Context> context) {
    std::unique_ptr<Session> session(new Session(std::move(context)));
    if (!session->attach_bio()) return nullptr;
    SSL_set_app_data(session->ssl_.get(), const_cast<Context*>(session->context_.get()));
    SSL_set_accept_state(session->ssl_.get());
    return session;
}

std::unique_ptr<Session> Session::connect(std::shared_ptr<const Context> context, ServerIdentity identity,
                                          SSL_SESSION* from) {
    std::unique_ptr<Session> session(new Session(std::move(context)));
    if (!session->attach_bio()) return nullptr;
    auto* const ssl = session->ssl_.get();
    SSL_set_app_data(ssl, session.get());
    session->identity_ = std::move(identity);
    if (!set_expected_identity(ssl, session->identity_)) return nullptr;
    ERR_clear_error();
    if (from) SSL_set_session(ssl, from);
    SSL_set_cert_cb(ssl, note_certificate_request, session.get());
    SSL_set_connect_state(ssl);
    return session;
}

int Session::keep_resumable_session(SSL* ssl, SSL_SESSION* fresh) {
    static_cast<Session*>(SSL_get_app_data(ssl))->resumable_session_.reset(fresh);
    return 1; // ours now
}

int Session::note_certificate_request(SSL*, void* self) {
    static_cast<Session*>(self)->certificate_requested_ = true;
    return 1;
}

Session::~Session() = default;

Session::Progress Session::ended(int result) {
    switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return Progress::wants_more;
    case SSL_ERROR_ZERO_RETURN: return Progress::closed;
    default:
        error_ = last_error();
        if (error_.empty()) error_ = "the peer closed the connection";
        return Progress::failed;
    }
}

Session::Progress Session::handshake() {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result != 1) return ended(result);
    up_ = true;
    return Progress::done;
}

Session::Progress Session::read(std::span<char> space, std::size_t& taken) {
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_.get(), space.data(), space.size(), &taken);
    return result == 1 ? Progress::done : ended(result);
}

bool Session::write(std::string_view plain) {
    while (up_ && !plain.empty()) { // out_ takes everything, so nothing is ever left for later
        ERR_clear_error();
        std::size_t taken = 0;
        up_ = SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &taken) == 1;
        if (up_) plain.remove_prefix(taken);
    }
    return plain.empty();
}

void Session::close() {
    if (!up_) return;
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    up_ = false;
}

std::string ConnectionInfo::text() const {
    return fmt::format("{} with cipher {} ({}/{} bits)", version, cipher, bits, cipher_bits);
}

namespace {

std::string common_name(const X509_NAME* of) {
    char name[256] = "";
    const int n = X509_NAME_get_text_by_NID(const_cast<X509_NAME*>(of), NID_commonName, name, sizeof name);
    return n > 0 ? smtp::printable({name, static_cast<std::size_t>(n)}, 255) : "";
}

std::string in_hexadecimal(std::span<const unsigned char> bytes) {
    std::string out;
    for (const auto byte : bytes) out += fmt::format("{}{:02X}", out.empty() ? "" : ":", byte);
    return out;
}

smtp::WallTime time_of(const ASN1_TIME* time) {
    std::tm parts{};
    if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
    return smtp::WallTime(std::chrono::seconds(timegm(&parts)));
}

} // namespace

std::string ClientCertificate::why_not_valid(smtp::WallTime now) const {
    if (now < begins) return fmt::format("it is not valid before {}", smtp::iso_date(begins));
    return now > expires ? fmt::format("it expired on {}", smtp::iso_date(expires)) : "";
}

std::shared_ptr<const ClientCertificate> Session::certificate_of(X509* peer) const {
    auto out = std::make_shared<ClientCertificate>();
    out->subject = common_name(X509_get_subject_name(peer));
    out->issuer = common_name(X509_get_issuer_name(peer));
    unsigned char digest[32];
    if (X509_digest(peer, EVP_sha256(), digest, nullptr) == 1) out->fingerprint = in_hexadecimal(digest);
    unsigned char* key = nullptr;
    if (const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(peer), &key); size > 0) {
        EVP_Digest(key, static_cast<std::size_t>(size), digest, nullptr, EVP_sha256(), nullptr);
        out->key_fingerprint = in_hexadecimal(digest);
        OPENSSL_free(key);
    }
    out->begins = time_of(X509_get0_notBefore(peer));
    out->expires = time_of(X509_get0_notAfter(peer));
    if (const auto verdict = SSL_get_verify_result(ssl_.get()); verdict != X509_V_OK)
        out->problem = X509_verify_cert_error_string(verdict);
    return out;
}

ConnectionInfo Session::info() const {
    ConnectionInfo facts;
    facts.version = SSL_get_version(ssl_.get());
    const auto* cipher = SSL_get_current_cipher(ssl_.get());
    facts.cipher = SSL_CIPHER_get_name(cipher);
    facts.bits = SSL_CIPHER_get_bits(cipher, &facts.cipher_bits);
    facts.resumed = SSL_session_reused(ssl_.get()) == 1;
    using Own = ConnectionInfo::OwnCertificate;
    if (certificate_requested_) facts.own = context_->certificates_shown().empty() ? Own::missing : Own::shown;
    if (const char* name = SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name))
        facts.server_name = smtp::printable(name, 255);
    auto* const peer = SSL_get0_peer_certificate(ssl_.get());
    if (!peer) return facts;
    facts.peer = SSL_get_verify_result(ssl_.get()) == X509_V_OK ? ConnectionInfo::Peer::trusted
                                                                : ConnectionInfo::Peer::untrusted;
    if (SSL_is_server(ssl_.get())) facts.certificate = certificate_of(peer);
    if (facts.peer == ConnectionInfo::Peer::trusted) facts.peer_name = common_name(X509_get_subject_name(peer));
    return facts;
}

std::string Session::channel_binding(std::string_view type) const {
    if (type == "tls-exporter" && up_ && SSL_version(ssl_.get()) >= TLS1_3_VERSION) {
        constexpr std::string_view label = "EXPORTER-Channel-Binding";
        std::string out(32, '\0');
        const auto done = SSL_export_keying_material(ssl_.get(), reinterpret_cast<unsigned char*>(out.data()),
                                                     out.size(), label.data(), label.size(), nullptr, 0, 1);
        return done == 1 ? out : "";
    }
    if (type != "tls-server-end-point") return "";
    auto* const server =
        SSL_is_server(ssl_.get()) ? SSL_get_certificate(ssl_.get()) : SSL_get0_peer_certificate(ssl_.get());
    int digest_id = NID_undef;
    if (!server || X509_get_signature_info(server, &digest_id, nullptr, nullptr, nullptr) != 1) return "";
    if (digest_id == NID_md5 || digest_id == NID_sha1) digest_id = NID_sha256; // RFC 5929, 4.1
    const auto* digest = EVP_get_digestbynid(digest_id);
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (!digest || X509_digest(server, digest, bytes, &size) != 1) return "";
    return {reinterpret_cast<const char*>(bytes), size};
}

} // namespace tls
