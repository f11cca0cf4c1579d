#include "daemons/common/ipc/hello.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <span>

namespace ipc {

bool equal_secrets(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned char differences = 0;
    for (std::size_t i = 0; i < a.size(); ++i) differences |= static_cast<unsigned char>(a[i] ^ b[i]);
    return differences == 0;
}

std::string Identity::token_for(std::string_view socket_path) const {
    const auto name = socket_path.substr(socket_path.rfind('/') + 1);
    const auto found = std::ranges::find(tokens, name, &ServerToken::server);
    return found == tokens.end() ? std::string() : found->token;
}

std::string token_of(std::string_view key, proto::Role role, std::uint32_t instance) {
    const auto text = fmt::format("{}/{}", proto::name_of(role), instance);
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned size = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
         text.size(), digest.data(), &size);
    std::string out;
    for (const auto byte : std::span(digest).first(size)) out += fmt::format("{:02x}", byte);
    return out;
}

std::string rejection_reason(const proto::hello::Hello& hello, const std::vector<proto::Role>& roles,
                             const ExpectedTokens& expected) {
    if (hello.version != proto::version)
        return fmt::format("it uses version {}, this is version {}", hello.version, proto::version);
    if (std::ranges::find(roles, hello.role) == roles.end())
        return fmt::format("{} does not take part in \"{}\"", proto::name_of(hello.role), hello.conversation);
    const bool proved = !expected.key.empty() &&
                        std::ranges::find(expected.roles, hello.role) != expected.roles.end() &&
                        equal_secrets(token_of(expected.key, hello.role, hello.instance), hello.token);
    return proved ? std::string()
                  : fmt::format("it did not prove to be {}/{}", proto::name_of(hello.role), hello.instance);
}

} // namespace ipc
