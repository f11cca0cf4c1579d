#include "daemons/common/crypto/webhook/signing.h"
#include "libsmtp/text/base64.h"
#include <array>
#include <cassert>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace webhook {

namespace {

constexpr std::string_view prefix = "whsec_";

std::string_view trimmed(std::string_view line) {
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) line.remove_suffix(1);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    return line;
}

} // namespace

std::expected<Secrets, std::string> Secrets::parse(std::string_view text) {
    Secrets secrets;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto line = trimmed(text.substr(0, text.find('\n')));
        text.remove_prefix(std::min(text.size(), text.find('\n') == text.npos ? text.size() : text.find('\n') + 1));
        if (line.empty() || line.front() == '#') continue;
        if (!line.starts_with(prefix))
            return std::unexpected(fmt::format("line {}: expected a secret that begins with \"{}\"", number, prefix));
        const auto key = smtp::decode_base64(line.substr(prefix.size()));
        if (!key) return std::unexpected(fmt::format("line {}: the secret is not valid Base64", number));
        if (key->size() < shortest || key->size() > longest)
            return std::unexpected(fmt::format("line {}: the secret has {} bytes: expected {} to {}", number,
                                               key->size(), shortest, longest));
        if (secrets.keys_.size() == most)
            return std::unexpected(fmt::format("line {}: more than {} secrets", number, most));
        secrets.keys_.push_back(*key);
    }
    if (secrets.keys_.empty()) return std::unexpected("there is no secret in it");
    return secrets;
}

std::string Secrets::signature(std::string_view id, std::int64_t time, std::string_view body) const {
    const auto head = fmt::format("{}.{}.", id, time);
    std::string signed_text;
    signed_text.reserve(head.size() + body.size());
    signed_text.append(head).append(body);
    std::string out;
    for (const auto& key : keys_) {
        std::array<unsigned char, EVP_MAX_MD_SIZE> code{};
        unsigned size = 0;
        const auto* made =
            HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                 reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(), code.data(), &size);
        assert(made != nullptr);
        static_cast<void>(made);
        out += (out.empty() ? "v1," : " v1,") + smtp::encode_base64({reinterpret_cast<const char*>(code.data()), size});
    }
    return out;
}

} // namespace webhook
