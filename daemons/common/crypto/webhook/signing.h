// Secrets and signatures of Standard Webhooks 1.0 (https://www.standardwebhooks.com): HMAC-SHA256 over the identifier,
// the time and the body of a request. Pure.
#pragma once
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace webhook {

class Secrets {
public:
    static constexpr std::size_t most = 2, shortest = 24, longest = 64; // secrets; bytes of one

    // Lines "whsec_" and Base64, one or two; empty ones and those that begin with # are ignored. The error never
    // repeats the text.
    static std::expected<Secrets, std::string> parse(std::string_view text);

    // The field webhook-signature: "v1,…", or "v1,… v1,…" while a secret is replaced by another.
    std::string signature(std::string_view id, std::int64_t time, std::string_view body) const;
    bool empty() const { return keys_.empty(); }
    bool operator==(const Secrets&) const = default;

private:
    std::vector<std::string> keys_;
};

} // namespace webhook
