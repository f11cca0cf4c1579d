// The cryptography of DKIM signatures, by OpenSSL: reading a private key from a PEM file, signing,
// the record to publish, and the hash of a body. Knows nothing of messages, domains and selectors.
#pragma once
#include "libsmtp/dkim/dkim.h"
#include "libspool/disk/result.h"
#include <cstdint>
#include <memory>
#include <openssl/evp.h>
#include <optional>
#include <string>
#include <string_view>

namespace dkim {

inline constexpr int min_rsa_bits = 1024; // RFC 8301: signatures by shorter keys are not verified

class SigningKey {
public:
    // PEM, RSA or Ed25519, without a pass phrase. Errors name `source`.
    static spool::Result<SigningKey> read(std::string_view pem, const std::string& source);
    static spool::Result<SigningKey> make_rsa(int bits);
    static spool::Result<SigningKey> make_ed25519();

    smtp::dkim::Algorithm algorithm() const { return algorithm_; }
    // The raw signature of these bytes: rsa-sha256 (RFC 6376, 3.3), or Ed25519 of their SHA-256 (RFC 8463, 3).
    std::optional<std::string> sign(std::string_view data) const;
    std::string pem() const;
    // What is published in the DNS: "v=DKIM1; k=rsa; p=…".
    std::string record() const;

private:
    struct Free {
        void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    };
    using Key = std::unique_ptr<EVP_PKEY, Free>;
    SigningKey(Key key, smtp::dkim::Algorithm algorithm) : key_(std::move(key)), algorithm_(algorithm) {}

    Key key_;
    smtp::dkim::Algorithm algorithm_;
};

// SHA-256 of streamed data.
class Sha256 {
public:
    Sha256();
    void update(std::string_view bytes);
    std::string finish(); // 32 bytes

private:
    struct Free {
        void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
    };
    std::unique_ptr<EVP_MD_CTX, Free> context_;
};

} // namespace dkim
