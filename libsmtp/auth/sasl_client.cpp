#include "libsmtp/auth/sasl_client.h"
#include "libsmtp/text/base64.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace smtp {

namespace {

constexpr std::pair<SaslMechanism, std::string_view> names[] = {
    {SaslMechanism::login, "LOGIN"},
    {SaslMechanism::plain, "PLAIN"},
    {SaslMechanism::xoauth2, "XOAUTH2"},
    {SaslMechanism::oauthbearer, "OAUTHBEARER"},
    {SaslMechanism::scram_sha_256, "SCRAM-SHA-256"},
    {SaslMechanism::scram_sha_256_plus, "SCRAM-SHA-256-PLUS"},
};

auto unusable_challenge(std::string_view why) { return std::unexpected(Malformed{std::string(why)}); }

} // namespace

std::string_view name_of(SaslMechanism mechanism) {
    return std::ranges::find(names, mechanism, [](auto& each) { return each.first; })->second;
}

std::optional<SaslMechanism> sasl_mechanism_named(std::string_view name) {
    for (const auto& [mechanism, its] : names)
        if (same_ignoring_case(name, its)) return mechanism;
    return {};
}

SaslClient::SaslClient(SaslMechanism mechanism, std::string user, Secret secret, std::string host, std::uint16_t port)
    : mechanism_(mechanism), user_(std::move(user)), host_(std::move(host)), port_(port), secret_(std::move(secret)) {}

SaslClient::SaslClient(SaslMechanism mechanism, Secret secret, ScramClient scram)
    : mechanism_(mechanism), secret_(std::move(secret)), scram_(std::move(scram)) {}

// The single message of the mechanisms that have one.
Secret SaslClient::message() const {
    const auto secret = secret_.reveal();
    switch (mechanism_) {
    case SaslMechanism::plain: return Secret(fmt::format("{0}{1}{0}{2}", '\0', user_, secret));
    case SaslMechanism::xoauth2: return Secret(fmt::format("user={1}{0}auth=Bearer {2}{0}{0}", '\1', user_, secret));
    case SaslMechanism::oauthbearer:
        return Secret(fmt::format("n,a={1},{0}host={2}{0}port={3}{0}auth=Bearer {4}{0}{0}", '\1', gs2_name(user_),
                                  host_, port_, secret));
    default: return Secret(scram_ ? scram_->first() : std::string());
    }
}

std::optional<Secret> SaslClient::initial() {
    if (mechanism_ == SaslMechanism::login) return {};
    step_ = 1;
    return message();
}

std::expected<Secret, Malformed> SaslClient::respond(std::string_view challenge) {
    const auto step = step_++;
    if (mechanism_ == SaslMechanism::login) { // prompts differ from server to server
        if (step == 0) return Secret(user_);
        if (step == 1) return secret_.copy();
        return unusable_challenge("unexpected challenge after user and password");
    }
    if (step == 1 && needs_token(mechanism_)) { // an error, and a reply that only acknowledges it
        server_error_ = printable(challenge, 200);
        return Secret(mechanism_ == SaslMechanism::oauthbearer ? "\1" : "");
    }
    if (scram_ && step == 1) {
        auto proof = scram_->final(challenge);
        if (!proof) return std::unexpected(proof.error());
        return Secret(*std::move(proof));
    }
    if (scram_ && step == 2) {
        if (auto verified = scram_->verify(challenge); !verified) {
            --step_;
            return std::unexpected(verified.error());
        }
        return Secret();
    }
    step_ = step; // still not verified
    return unusable_challenge("unexpected challenge at the end");
}

bool SaslClient::is_revealed_by(std::string_view text) const {
    constexpr std::size_t shortest = 4; // anything shorter occurs in any text
    const auto holds = [&](std::string_view secret) {
        return secret.size() >= shortest && text.find(secret) != text.npos;
    };
    if (holds(secret_.reveal()) || holds(encode_base64(secret_.reveal()))) return true;
    return !scram_ && mechanism_ != SaslMechanism::login && holds(encode_base64(message().reveal()));
}

} // namespace smtp
