// Any server against the client's half of SASL, and the file of accounts: it never says the password where
// SCRAM is spoken, never more than once what it has to say, and believes nobody who does not know the
// password.
#include "daemons/common/crypto/auth/credentials.h"
#include "daemons/common/crypto/auth/password_file.h"
#include "libsmtp/auth/sasl_client.h"
#include <cassert>

namespace {

constexpr std::string_view password = "tanstaaftanstaaf";

smtp::SaslClient client(smtp::SaslMechanism mechanism) {
    smtp::Secret secret{std::string(password)};
    if (mechanism < smtp::SaslMechanism::scram_sha_256) return {mechanism, "tim", std::move(secret), "host", 587};
    const bool bound = mechanism == smtp::SaslMechanism::scram_sha_256_plus;
    auto copy = secret.copy();
    const auto quick = [](std::string_view, std::string_view, std::uint32_t) {
        return smtp::Secret(std::string(32, 'k'));
    };
    return {mechanism, std::move(secret),
            smtp::ScramClient(auth::scram_crypto, quick, "tim", std::move(copy), "nonce",
                              {bound ? "tls-exporter" : "", bound ? "data" : "", false})};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
    const auto mechanism =
        static_cast<smtp::SaslMechanism>(data[0] % (static_cast<int>(smtp::SaslMechanism::last_) + 1));
    const bool scram = mechanism >= smtp::SaslMechanism::scram_sha_256;
    auto sasl = client(mechanism);
    int said = sasl.initial() ? 1 : 0;
    for (int turn = 0; turn < 6; ++turn) {
        const auto challenge = input.substr(0, input.find('\n'));
        input.remove_prefix(std::min(challenge.size() + 1, input.size()));
        const auto answer = sasl.respond(challenge);
        if (!answer) continue;
        ++said;
        // A server's own nonce is said back to it, whatever it holds.
        if (scram && challenge.find(password) == std::string_view::npos)
            assert(answer->reveal().find(password) == std::string_view::npos);
    }
    assert(said <= 2); // nobody can send the signature that the third message would confirm
    assert(!scram || !sasl.server_verified());
    assert(sasl.server_error().size() <= 200);
    static_cast<void>(sasl.is_revealed_by(input));

    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto read = auth::Credentials::parse(text))
        for (const auto& account : read->accounts) {
            assert(read->find(account.host, account.port) && read->named(account.name()));
            assert(account.password.empty() != account.command.empty());
        }
    return 0;
}
