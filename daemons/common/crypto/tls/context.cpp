#include "daemons/common/crypto/tls/context.h"
#include "daemons/common/crypto/tls/session.h"
#include "libsmtp/text/text.h"
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

namespace tls {

using spool::Error;
using spool::Result;

namespace {

constexpr std::size_t longest_subject = 500;

using Bio = std::unique_ptr<BIO, Deleter<BIO_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;

Bio reading(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// "O=Example, CN=mail.example.org", in ASCII.
std::string name_text(const X509_NAME* name) {
    const Bio out(BIO_new(BIO_s_mem()));
    char* text = nullptr;
    if (!out || X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_ONELINE & ~XN_FLAG_SPC_EQ) < 0) return {};
    const auto size = BIO_get_mem_data(out.get(), &text);
    return smtp::printable({text, static_cast<std::size_t>(size)}, longest_subject);
}

// A daemon cannot use a key with a pass phrase: it must not ask the terminal.
int no_pass_phrase(char*, int, int, void*) { return 0; }

auto failed(const std::string& file, std::string_view what) {
    const auto why = last_error();
    return std::unexpected(Error{0, fmt::format("{}: {}{}{}", file, what, why.empty() ? "" : ": ", why)});
}

Result<> use(SSL_CTX* context, const proto::secrets::Certificate& from) {
    const auto chain = reading(from.chain);
    const Certificate own(PEM_read_bio_X509_AUX(chain.get(), nullptr, no_pass_phrase, nullptr));
    if (!own || SSL_CTX_use_certificate(context, own.get()) != 1)
        return failed(from.file, "contains no usable certificate");
    while (auto* next = PEM_read_bio_X509(chain.get(), nullptr, no_pass_phrase, nullptr))
        if (SSL_CTX_add0_chain_cert(context, next) != 1) {
            X509_free(next);
            return failed(from.file, "its chain cannot be used");
        }
    ERR_clear_error(); // reading on to the end of the text counts as an error there
    const auto key = reading(from.key);
    const Key own_key(PEM_read_bio_PrivateKey(key.get(), nullptr, no_pass_phrase, nullptr));
    if (!own_key) return failed(from.file, "its private key cannot be read (it must not have a pass phrase)");
    if (SSL_CTX_use_PrivateKey(context, own_key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
        return failed(from.file, "the private key is not that of the certificate");
    return {};
}

Certificate first_of(const std::string& chain) {
    const auto bytes = reading(chain);
    Certificate out(PEM_read_bio_X509_AUX(bytes.get(), nullptr, no_pass_phrase, nullptr));
    ERR_clear_error();
    return out;
}

// A digest of what a server would see.
std::string digest_of(const std::vector<proto::secrets::Certificate>& certificates) {
    if (certificates.empty()) return {};
    std::string text;
    for (const auto& each : certificates) text += each.chain + '\0';
    unsigned char digest[32];
    EVP_Digest(text.data(), text.size(), digest, nullptr, EVP_sha256(), nullptr);
    std::string out;
    for (const unsigned char c : digest) out += fmt::format("{:02x}", c);
    return out;
}

// Every certificate of the text goes to `take`, which says whether it could be used. How many there were.
template <class Take> Result<int> each_certificate(const std::string& text, const std::string& source, Take take) {
    const auto bytes = reading(text);
    int found = 0;
    while (true) {
        const Certificate one(PEM_read_bio_X509(bytes.get(), nullptr, no_pass_phrase, nullptr));
        if (!one) break;
        if (!take(one.get())) return failed(source, "a certificate in it cannot be used");
        ++found;
    }
    ERR_clear_error();
    if (found == 0) return failed(source, "contains no certificate");
    return found;
}

} // namespace

std::string last_error() {
    std::string text;
    while (const auto code = ERR_get_error())
        if (const char* reason = ERR_reason_error_string(code); reason) text = reason;
    return text;
}

Result<> check(const proto::secrets::Certificate& certificate, const std::string& key_file) {
    const SslContext context(SSL_CTX_new(TLS_server_method()));
    auto used = use(context.get(), certificate);
    if (!used && key_file != certificate.file) used.error().what += fmt::format(" (the key is in {})", key_file);
    return used;
}

Result<> check_together(const std::vector<proto::secrets::Certificate>& certificates) {
    std::vector<std::pair<int, const std::string*>> kinds;
    for (const auto& each : certificates) {
        const auto own = first_of(each.chain);
        if (!own) continue; // said already
        const int kind = EVP_PKEY_get_base_id(X509_get0_pubkey(own.get()));
        for (const auto& [other, file] : kinds)
            if (other == kind)
                return std::unexpected(Error{0, fmt::format("{} and {} have keys of the same kind ({}): expected one "
                                                            "certificate for each kind of key",
                                                            *file, each.file, OBJ_nid2ln(kind))});
        kinds.emplace_back(kind, &each.file);
    }
    return {};
}

bool is_for_clients(const std::string& chain) {
    const auto own = first_of(chain);
    return !own || X509_check_purpose(own.get(), X509_PURPOSE_SSL_CLIENT, 0) == 1;
}

std::vector<CertificateFacts> certificate_facts(const std::string& text, std::size_t most) {
    std::vector<CertificateFacts> out;
    const auto bytes = reading(text);
    while (out.size() < most) {
        const Certificate one(PEM_read_bio_X509(bytes.get(), nullptr, no_pass_phrase, nullptr));
        std::tm parts{};
        if (!one || ASN1_TIME_to_tm(X509_get0_notAfter(one.get()), &parts) != 1) break;
        out.push_back(
            {name_text(X509_get_subject_name(one.get())), smtp::WallTime(std::chrono::seconds(timegm(&parts)))});
    }
    ERR_clear_error();
    return out;
}

std::optional<smtp::WallTime> certificate_expiry(const std::string& chain) {
    std::optional<smtp::WallTime> end;
    const auto bytes = reading(chain);
    while (true) {
        const Certificate one(PEM_read_bio_X509(bytes.get(), nullptr, no_pass_phrase, nullptr));
        std::tm parts{};
        if (!one || ASN1_TIME_to_tm(X509_get0_notAfter(one.get()), &parts) != 1) break;
        const smtp::WallTime its{std::chrono::seconds(timegm(&parts))};
        if (!end || its < *end) end = its;
    }
    ERR_clear_error();
    return end;
}

Result<> check_authorities(const std::string& text, const std::string& file) {
    const SslContext context(SSL_CTX_new(TLS_server_method()));
    TRY(each_certificate(
        text, file, [&](X509* one) { return X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), one) == 1; }));
    return {};
}

Result<> check_ciphers(const std::string& ciphers, std::string_view key) {
    if (ciphers.empty()) return {};
    const SslContext context(SSL_CTX_new(TLS_method()));
    if (SSL_CTX_set_cipher_list(context.get(), ciphers.c_str()) != 1)
        return failed(std::string(key), "no TLS 1.2 cipher is listed");
    return {};
}

Result<std::shared_ptr<const Context>> Context::server(const proto::secrets::Server& secrets,
                                                       const ServerOptions& options) {
    std::shared_ptr<Context> context(new Context);
    context->ticket_keys_ = secrets.ticket_keys;
    for (const auto& certificate : secrets.certificates)
        TRY(context->add(certificate, options, secrets.client_authorities));
    if (context->contexts_.empty()) return std::unexpected(Error{0, "there is no certificate for TLS"});
    return context;
}

Result<std::shared_ptr<const Context>> Context::client(const ClientOptions& options) {
    std::shared_ptr<Context> context(new Context);
    auto* const ssl = context->contexts_.emplace_back(SSL_CTX_new(TLS_client_method())).get();
    TRY(harden(ssl, options.minimum, options.ciphers, "smtp_client.tls_ciphers"));
    if (options.same_authorities)
        SSL_CTX_set1_cert_store(ssl, SSL_CTX_get_cert_store(options.same_authorities->first()));
    else if (!options.authorities.empty())
        TRY(each_certificate(options.authorities, "smtp_client.tls_ca_file",
                             [&](X509* one) { return X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), one) == 1; }));
    for (const auto& each : options.certificates) TRY(use(ssl, each));
    if (!options.certificates.empty()) // the one that TLS 1.2 uses
        SSL_CTX_select_current_cert(ssl, first_of(options.certificates.front().chain).get());
    context->shown_ = digest_of(options.certificates);
    if (SSL_CTX_dane_enable(ssl) != 1) return failed("DANE", "is not available");
    SSL_CTX_set_verify(ssl, SSL_VERIFY_NONE, nullptr); // verified nevertheless: SSL_get_verify_result()
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ssl, Session::keep_resumable_session);
    return context;
}

Result<> Context::harden(SSL_CTX* context, Version minimum, const std::string& ciphers, std::string_view key) {
    SSL_CTX_set_min_proto_version(context, minimum == Version::tls_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context,
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (!ciphers.empty() && SSL_CTX_set_cipher_list(context, ciphers.c_str()) != 1)
        return failed(std::string(key), "no TLS 1.2 cipher is listed");
    return {};
}

Result<> Context::add(const proto::secrets::Certificate& certificate, const ServerOptions& options,
                      const std::string& authorities) {
    auto& owned = contexts_.emplace_back(SSL_CTX_new(TLS_server_method()));
    auto* const context = owned.get();
    TRY(use(context, certificate));
    TRY(harden(context, options.minimum, options.ciphers, "tls.ciphers"));
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    // No state is kept about clients: their tickets contain all that is needed to resume a session.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    // A resumed session keeps the verdict about the client's certificate: it is one of the same authorities, or none.
    auto purpose = options.purpose;
    if (options.client_certificates == ClientCertificates::ask) (purpose += '\0') += authorities;
    unsigned char digest[32];
    EVP_Digest(purpose.data(), purpose.size(), digest, nullptr, EVP_sha256(), nullptr);
    SSL_CTX_set_session_id_context(context, digest, sizeof digest);
    if (options.tickets && !ticket_keys_.empty()) {
        SSL_CTX_set_tlsext_ticket_key_evp_cb(context, ticket_key);
        SSL_CTX_set_timeout(context, options.ticket_lifetime);
        SSL_CTX_set_num_tickets(context, 1);
    } else {
        SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(context, 0);
    }
    if (options.client_certificates == ClientCertificates::ask) {
        if (!authorities.empty())
            TRY(each_certificate(authorities, "tls.client_ca_file", [&](X509* one) {
                return X509_STORE_add_cert(SSL_CTX_get_cert_store(context), one) == 1 &&
                       SSL_CTX_add_client_CA(context, one) == 1;
            }));
        // The certificate is judged later; an invalid one counts as none.
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
    }
    SSL_CTX_set_tlsext_servername_callback(context, choose);
    SSL_CTX_set_tlsext_servername_arg(context, this);
    return {};
}

// The certificate for the name the client asks for (SNI).
int Context::choose(SSL* ssl, int*, void* self) {
    const auto& contexts = static_cast<const Context*>(self)->contexts_;
    const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (!name) return SSL_TLSEXT_ERR_NOACK;
    for (const auto& context : contexts)
        if (X509_check_host(SSL_CTX_get0_certificate(context.get()), name, 0, 0, nullptr) == 1) {
            if (context != contexts.front()) SSL_set_SSL_CTX(ssl, context.get());
            return SSL_TLSEXT_ERR_OK;
        }
    return SSL_TLSEXT_ERR_NOACK;
}

int Context::ticket_key(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                        int sealing) {
    const auto& keys = static_cast<const Context*>(SSL_get_app_data(ssl))->ticket_keys_;
    const auto* key = &keys.front();
    if (sealing) {
        std::memcpy(name, key->name.data(), 16);
        if (RAND_bytes(iv, 16) != 1) return -1;
    } else {
        while (std::memcmp(name, key->name.data(), 16) != 0)
            if (++key == keys.data() + keys.size()) return 0; // too old, or not ours: a full handshake
    }
    auto* secret = const_cast<char*>(key->mac.data());
    char digest[] = "SHA256";
    const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, secret, key->mac.size()),
                                     OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                     OSSL_PARAM_construct_end()};
    const auto* bytes = reinterpret_cast<const unsigned char*>(key->cipher.data());
    if (EVP_MAC_CTX_set_params(mac, parameters) != 1 ||
        EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nullptr, bytes, iv, sealing) != 1)
        return -1;
    // 2: the client gets a new one. Always under TLS 1.3, because clients should use a ticket only once (RFC 8446,
    // C.4).
    return !sealing && (key != keys.data() || SSL_version(ssl) == TLS1_3_VERSION) ? 2 : 1;
}

} // namespace tls
