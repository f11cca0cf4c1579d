// SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, 7677), both sides: messages
// in, messages out. The hash functions are passed in; the server's side knows no
// passwords, only the keys derived from them. Does not know the base64 of SMTP.
#pragma once
#include "libsmtp/auth/secret.h"
#include "libsmtp/text/text.h"
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace smtp {

// The stored form of a password: "4096,salt,StoredKey,ServerKey", the last three in base64.
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
        offered,     // but the client chose the mechanism without it: it must not believe that we lack it
        chosen,
    };

    ScramServer(const ScramCrypto& crypto, std::string nonce, Plus plus, Binding binding)
        : crypto_(crypto), nonce_(std::move(nonce)), plus_(plus), binding_(std::move(binding)) {}

    // client-first-message: returns the user whose keys are needed.
    std::expected<std::string, Malformed> first(std::string_view message);
    // server-first-message.
    std::string challenge(const ScramKeys& keys);
    // client-final-message: returns server-final-message if the proof is right. A wrong proof is Malformed, too.
    std::expected<std::string, Malformed> final(std::string_view message);

private:
    ScramCrypto crypto_;
    std::string nonce_;
    Plus plus_;
    Binding binding_;
    ScramKeys keys_;
    std::string header_, bound_, client_first_, server_first_;
};

// A name as written in messages of SCRAM and of GS2 (RFC 5801, 4): "=2C" and "=3D" for ',' and '='.
std::string gs2_name(std::string_view name);

class ScramClient {
public:
    // SaltedPassword (RFC 5802, 3: Hi), 32 bytes. Slow on purpose; the function may cache results.
    using Derive = std::function<Secret(std::string_view password, std::string_view salt, std::uint32_t iterations)>;
    static constexpr std::uint32_t min_iterations = 4096;    // RFC 7677, 4: fewer would expose the password
    static constexpr std::uint32_t max_iterations = 600'000; // more would only cost us time
    static constexpr std::size_t longest = 4096;             // message of a server

    // How the channel is bound. type "": not at all; then `server_lacks_support` says that we could have (RFC 5802, 6:
    // this detects an attacker who hides the server's offer from us).
    struct Binding {
        std::string type, data;
        bool server_lacks_support = false;
    };

    // `user` is sent as it is: SASLprep is the caller's job, and for the password that of Derive. nonce: random,
    // printable, without commas.
    ScramClient(const ScramCrypto& crypto, Derive derive, std::string user, Secret password, std::string nonce,
                Binding binding);

    // client-first-message.
    std::string first() const;
    // server-first-message: client-final-message.
    std::expected<std::string, Malformed> final(std::string_view message);
    // server-final-message: proves that the server knows the password too.
    std::expected<void, Malformed> verify(std::string_view message);

private:
    ScramCrypto crypto_;
    Derive derive_;
    Secret password_;
    std::string nonce_, header_, bound_, first_bare_, server_signature_;
};

} // namespace smtp
