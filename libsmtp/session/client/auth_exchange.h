// AUTH (RFC 4954): which mechanism is used, and one exchange of challenges and answers with the server. The SASL client
// knows the account; this knows how its messages are sent, and what the end of the exchange means.
#pragma once
#include "libsmtp/auth/sasl_client.h"
#include "libsmtp/session/client/client_options.h"
#include "libsmtp/session/client/command_stream.h"
#include "libsmtp/session/client/extensions.h"
#include "libsmtp/session/client/verdicts.h"
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace smtp {

// The strongest mechanism of `offered` ("PLAIN LOGIN") that may be used here; or why there is none.
std::expected<SaslMechanism, std::string> choose_mechanism(const ClientOptions& options, std::string_view offered,
                                                           ChannelSecurity security);

class AuthExchange {
public:
    // `peer`: "NAME[IP]", for texts. `commands` must outlive it. Sends the AUTH command.
    AuthExchange(SaslClient client, std::string_view peer, CommandStream& commands);
    AuthExchange(const AuthExchange&) = delete;
    AuthExchange& operator=(const AuthExchange&) = delete;

    // The reply to what was sent last.
    enum class Progress : std::uint8_t { continues, authenticated };
    std::expected<Progress, Verdict> take(const Reply& reply);
    // A reply's verdict; where its text repeats the password or token, without that text.
    Verdict verdict_of(Stage stage, const Reply& reply) const;

private:
    std::expected<Progress, Verdict> answer_challenge(const Reply& reply);
    void send_secret(std::string_view before, const Secret& message);

    SaslClient sasl_;
    std::string peer_;
    CommandStream& commands_;
    std::string cancelled_;          // why, once it has been
    std::optional<Secret> withheld_; // the first message, if it is too long for the command
};

} // namespace smtp
