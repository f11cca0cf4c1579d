// The client side of SASL: our identity, in the form of the chosen mechanism. Messages in, messages out, before base64:
// PLAIN (RFC 4616), LOGIN, SCRAM (scram.h), OAUTHBEARER (RFC 7628), XOAUTH2 (as documented by Google and Microsoft).
// Knows neither SMTP nor the origin of passwords and tokens.
#pragma once
#include "libsmtp/auth/scram.h"
#include "libsmtp/auth/secret.h"
#include "libsmtp/text/text.h"
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace smtp {

enum class SaslMechanism : std::uint8_t { // the weakest first
    login,
    plain,
    xoauth2,
    oauthbearer,
    scram_sha_256,
    scram_sha_256_plus,
    last_ = scram_sha_256_plus,
};

std::string_view name_of(SaslMechanism mechanism);                        // "SCRAM-SHA-256-PLUS"
std::optional<SaslMechanism> sasl_mechanism_named(std::string_view name); // in any case

// An eavesdropper could use what is sent.
constexpr bool sends_secret_in_clear(SaslMechanism mechanism) { return mechanism < SaslMechanism::scram_sha_256; }
constexpr bool needs_token(SaslMechanism mechanism) {
    return mechanism == SaslMechanism::xoauth2 || mechanism == SaslMechanism::oauthbearer;
}
constexpr bool needs_tls(SaslMechanism mechanism) { return mechanism == SaslMechanism::scram_sha_256_plus; }

class SaslClient {
public:
    // All but SCRAM. `secret`: a password, or a token without "Bearer"; host and port are sent by OAUTHBEARER.
    SaslClient(SaslMechanism mechanism, std::string user, Secret secret, std::string host = {}, std::uint16_t port = 0);
    // mechanism: one of the two; scram: made for it.
    SaslClient(SaslMechanism mechanism, Secret secret, ScramClient scram);

    SaslMechanism mechanism() const { return mechanism_; }
    // The initial response; nothing: the server must begin. Call once.
    std::optional<Secret> initial();
    // The answer to a challenge. Malformed: there is none, the exchange must be cancelled.
    std::expected<Secret, Malformed> respond(std::string_view challenge);
    // Has the server proved all it has to? Only then does its acceptance prove that it is the right server.
    bool server_verified() const { return !scram_ || step_ == 3; }
    // Why it will reject us, if it said so in a challenge (RFC 7628, 3.2.2); printable, "" otherwise.
    const std::string& server_error() const { return server_error_; }
    // Does a text contain the password or token, plain or in base64? Then it must not be shown.
    bool is_revealed_by(std::string_view text) const;

private:
    Secret message() const;

    SaslMechanism mechanism_;
    std::string user_, host_;
    std::uint16_t port_ = 0;
    Secret secret_;
    std::optional<ScramClient> scram_;
    unsigned step_ = 0; // messages sent
    std::string server_error_;
};

} // namespace smtp
