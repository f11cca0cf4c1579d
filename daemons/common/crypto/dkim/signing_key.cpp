#include "daemons/common/crypto/dkim/signing_key.h"
#include "daemons/common/crypto/tls/context.h"
#include "libsmtp/text/base64.h"
#include <cassert>
#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

namespace dkim {

using smtp::dkim::Algorithm;
using spool::Error;
using spool::Result;

namespace {

using Bio = std::unique_ptr<BIO, tls::Deleter<BIO_free>>;

// A daemon cannot use a key with a pass phrase: it must not ask the terminal.
int no_pass_phrase(char*, int, int, void*) { return 0; }

auto failed(const std::string& source, std::string_view what) {
    const auto why = tls::last_error();
    return std::unexpected(Error{0, fmt::format("{}: {}{}{}", source, what, why.empty() ? "" : ": ", why)});
}

} // namespace

Result<SigningKey> SigningKey::read(std::string_view pem, const std::string& source) {
    const Bio text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    Key key(PEM_read_bio_PrivateKey(text.get(), nullptr, no_pass_phrase, nullptr));
    if (!key) return failed(source, "contains no readable private key (expected PEM without a pass phrase)");
    if (EVP_PKEY_is_a(key.get(), "ED25519")) return SigningKey(std::move(key), Algorithm::ed25519_sha256);
    if (!EVP_PKEY_is_a(key.get(), "RSA")) return failed(source, "the key is neither RSA nor Ed25519");
    if (EVP_PKEY_get_bits(key.get()) < min_rsa_bits)
        return failed(source, fmt::format("the RSA key has {} bits; verifiers ignore keys of less than {}",
                                          EVP_PKEY_get_bits(key.get()), min_rsa_bits));
    return SigningKey(std::move(key), Algorithm::rsa_sha256);
}

Result<SigningKey> SigningKey::make_rsa(int bits) {
    Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", static_cast<std::size_t>(bits)));
    if (!key) return failed("OpenSSL", "the key could not be generated");
    return SigningKey(std::move(key), Algorithm::rsa_sha256);
}

Result<SigningKey> SigningKey::make_ed25519() {
    Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
    if (!key) return failed("OpenSSL", "the key could not be generated");
    return SigningKey(std::move(key), Algorithm::ed25519_sha256);
}

std::optional<std::string> SigningKey::sign(std::string_view data) const {
    std::string hash;
    const EVP_MD* digest = EVP_sha256();
    if (algorithm_ == Algorithm::ed25519_sha256) {
        Sha256 sha;
        sha.update(data);
        data = hash = sha.finish();
        digest = nullptr; // it hashes in its own way
    }
    const std::unique_ptr<EVP_MD_CTX, tls::Deleter<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
    const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
    std::size_t size = 0;
    if (EVP_DigestSignInit(context.get(), nullptr, digest, nullptr, key_.get()) != 1 ||
        EVP_DigestSign(context.get(), nullptr, &size, bytes, data.size()) != 1)
        return std::nullopt;
    std::string out(size, '\0');
    if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, bytes, data.size()) != 1)
        return std::nullopt;
    out.resize(size);
    return out;
}

std::string SigningKey::pem() const {
    const Bio out(BIO_new(BIO_s_mem()));
    PEM_write_bio_PrivateKey(out.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    char* bytes = nullptr;
    const auto size = BIO_get_mem_data(out.get(), &bytes);
    return std::string(bytes, static_cast<std::size_t>(size));
}

std::string SigningKey::record() const {
    std::string key;
    if (algorithm_ == Algorithm::ed25519_sha256) { // the bare 32 bytes (RFC 8463, 4.2)
        std::size_t size = 32;
        key.resize(size);
        EVP_PKEY_get_raw_public_key(key_.get(), reinterpret_cast<unsigned char*>(key.data()), &size);
    } else {
        unsigned char* bytes = nullptr;
        const auto size = i2d_PUBKEY(key_.get(), &bytes);
        if (size > 0) key.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
        OPENSSL_free(bytes);
    }
    return fmt::format("v=DKIM1; k={}; p={}", algorithm_ == Algorithm::rsa_sha256 ? "rsa" : "ed25519",
                       smtp::encode_base64(key));
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
    const auto ready = EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
    assert(ready == 1);
    static_cast<void>(ready);
}

void Sha256::update(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }

std::string Sha256::finish() {
    std::string out(32, '\0');
    EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(out.data()), nullptr);
    return out;
}

} // namespace dkim
