#include "daemons/fleet/redis/script.h"
#include <cassert>
#include <fmt/format.h>
#include <openssl/evp.h>

namespace fleet::redis {

Script::Script(std::string text) : text_(std::move(text)) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    const int made = EVP_Digest(text_.data(), text_.size(), digest, &size, EVP_sha1(), nullptr);
    assert(made == 1 && "OpenSSL cannot compute SHA-1");
    static_cast<void>(made);
    for (unsigned n = 0; n < size; ++n) digest_ += fmt::format("{:02x}", digest[n]);
}

} // namespace fleet::redis
