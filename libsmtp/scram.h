// The server's half of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, 7677): messages in, messages out. The
// hashing comes in as functions; knows no passwords, only the keys made from them, and no base64 of SMTP's.
#pragma once
#include "libsmtp/text.h"
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace smtp {

// What is stored of a password: "4096,salt,StoredKey,ServerKey", the last three in base64.
struct ScramKeys {
    std::uint32_t iterations = 0;
    std::string salt, stored_key, server_key;

    static std::optional<ScramKeys> parse(std::string_view text);
    std::string text() const;
};

struct ScramCrypto { // both of SHA-256
    std::string (*hash)(std::string_view text);
    std::string (*hmac)(std::string_view key, std::string_view text);
};

class ScramServer {
public:
    // The binding of the channel by its type ("tls-exporter"); "" if there is none of that type.
    using Binding = std::function<std::string(std::string_view type)>;
    enum class Plus : std::uint8_t {
        not_offered, // there is no TLS
        offered,     // and the client chose the mechanism without: it must not believe it is missing
        chosen,
    };

    ScramServer(const ScramCrypto& crypto, std::string nonce, Plus plus, Binding binding)
        : crypto_(crypto), nonce_(std::move(nonce)), plus_(plus), binding_(std::move(binding)) {}

    // client-first-message: the user whose keys are wanted.
    std::expected<std::string, Malformed> first(std::string_view message);
    // server-first-message.
    std::string challenge(const ScramKeys& keys);
    // client-final-message: server-final-message if the proof is right. Malformed is said of a wrong proof
    // too.
    std::expected<std::string, Malformed> final(std::string_view message);

private:
    ScramCrypto crypto_;
    std::string nonce_;
    Plus plus_;
    Binding binding_;
    ScramKeys keys_;
    std::string header_, bound_, client_first_, server_first_;
};

} // namespace smtp
