#include "daemons/common/submission/idempotency/fingerprint.h"
#include <cassert>
#include <openssl/evp.h>

namespace common::idempotency {

static constexpr std::string_view changing[] = {"Date", "Message-ID", "Received"};

void Fingerprint::Free::operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }

Fingerprint::Fingerprint() : left_out_(changing) {}

void Fingerprint::hash(std::string_view bytes) {
    if (!context_) { // only now: most messages have no key, and are never hashed
        context_.reset(EVP_MD_CTX_new());
        const auto ready = EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
        assert(ready == 1);
        static_cast<void>(ready);
    }
    EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

void Fingerprint::feed(std::string_view content) {
    if (left_out_.ended()) return hash(content);
    kept_.clear();
    left_out_.feed(content, kept_);
    hash(kept_);
}

static std::string sha256(std::string_view bytes) {
    std::string out(32, '\0');
    EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(out.data()), nullptr, EVP_sha256(),
               nullptr);
    return out;
}

std::string Fingerprint::finish(std::string_view request) {
    kept_.clear();
    left_out_.finish(kept_);
    hash(kept_);
    std::string content(32, '\0');
    EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(content.data()), nullptr);
    return sha256(content.append(request));
}

std::string name_in_store(std::string_view submitter, std::string_view key) {
    return sha256(std::string(submitter) + '\0' + std::string(key)); // neither has a NUL
}

} // namespace common::idempotency
