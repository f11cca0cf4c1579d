#include "libsmtp/session/client/auth_exchange.h"
#include "libsmtp/text/base64.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace smtp {
namespace {

constexpr std::size_t command_limit = 512;          // RFC 4954, 4: an initial response must fit into the line
constexpr std::size_t shown_mechanisms_limit = 100; // of what a server offers, in a text

// Is it among "PLAIN LOGIN"?
bool is_offered(std::string_view offers, SaslMechanism mechanism) {
    while (!offers.empty()) {
        const auto word = offers.substr(0, offers.find(' '));
        offers.remove_prefix(std::min(word.size() + 1, offers.size()));
        if (same_ignoring_case(word, name_of(mechanism))) return true;
    }
    return false;
}

} // namespace

std::expected<SaslMechanism, std::string> choose_mechanism(const ClientOptions& options, std::string_view offered,
                                                           ChannelSecurity security) {
    const auto& auth = options.auth;
    const bool plain = security == ChannelSecurity::plain;
    std::optional<SaslMechanism> best;
    bool needs_cover = false; // one is left out because there is no TLS
    for (const auto mechanism : auth.mechanisms) {
        if (!is_offered(offered, mechanism)) continue;
        if (plain && (needs_tls(mechanism) || (sends_secret_in_clear(mechanism) && !auth.without_tls)))
            needs_cover = true;
        else
            best = std::max(best.value_or(mechanism), mechanism);
    }
    if (best) return *best;
    if (offered.empty())
        return std::unexpected(fmt::format("there is an account, but AUTH was not offered by host {}{}", options.peer,
                                           plain ? " (there is no TLS)" : ""));
    if (needs_cover)
        return std::unexpected(fmt::format(
            "the AUTH mechanisms that host {} offers reveal the password, and there is no TLS", options.peer));
    return std::unexpected(fmt::format("none of the AUTH mechanisms that host {} offers can be used: {}", options.peer,
                                       printable(offered, shown_mechanisms_limit)));
}

AuthExchange::AuthExchange(SaslClient client, std::string_view peer, CommandStream& commands)
    : sasl_(std::move(client)), peer_(peer), commands_(commands) {
    const auto command = fmt::format("AUTH {}", name_of(sasl_.mechanism()));
    auto first = sasl_.initial();
    const auto size = first ? std::max<std::size_t>(1, (first->reveal().size() + 2) / 3 * 4) : 0;
    if (first && command.size() + 1 + size + 2 <= command_limit) {
        send_secret(command + " ", *first);
    } else {
        withheld_ = std::move(first);
        commands_.send(command + "\r\n", Awaited::auth);
    }
}

// "": nothing before it, and an empty message is not written as "=" (which only an initial response may be:
// RFC 4954, 4).
void AuthExchange::send_secret(std::string_view before, const Secret& message) {
    auto line = encode_base64(message.reveal());
    if (line.empty() && !before.empty()) line = "=";
    commands_.send_secret(before, line);
    explicit_bzero(line.data(), line.size());
}

std::expected<AuthExchange::Progress, Verdict> AuthExchange::take(const Reply& reply) {
    if (reply.code >= 300 && reply.code < 400) return answer_challenge(reply);
    if (reply.positive() && cancelled_.empty() && sasl_.server_verified()) return Progress::authenticated;
    if (reply.positive() && cancelled_.empty()) cancelled_ = "it did not prove that it knows the password";
    if (!cancelled_.empty())
        return std::unexpected(
            deferral(Stage::auth, "4.7.0",
                     fmt::format("AUTH {} with host {} failed: {}", name_of(sasl_.mechanism()), peer_, cancelled_)));
    auto verdict = verdict_of(Stage::auth, reply);
    if (!sasl_.server_error().empty() && !sasl_.is_revealed_by(sasl_.server_error()))
        verdict.text = printable(fmt::format("{}; before that: {}", verdict.text, sasl_.server_error()));
    return std::unexpected(std::move(verdict));
}

std::expected<AuthExchange::Progress, Verdict> AuthExchange::answer_challenge(const Reply& reply) {
    if (!cancelled_.empty())
        return std::unexpected(deferral(
            Stage::auth, "4.5.0", fmt::format("host {} continues AUTH after it was cancelled: {}", peer_, cancelled_)));
    if (const auto first = std::exchange(withheld_, std::nullopt)) {
        send_secret("", *first);
        return Progress::continues;
    }
    const auto challenge = decode_base64(reply.text);
    auto answer = challenge ? sasl_.respond(*challenge) : std::unexpected(Malformed{"a challenge is not base64"});
    if (answer) {
        send_secret("", *answer);
    } else {
        cancelled_ = std::move(answer.error().why);
        commands_.send("*\r\n", Awaited::auth);
    }
    return Progress::continues;
}

Verdict AuthExchange::verdict_of(Stage stage, const Reply& reply) const {
    if (!sasl_.is_revealed_by(reply.text)) return smtp::verdict_of(stage, reply, peer_);
    return smtp::verdict_of(stage, reply, peer_,
                            fmt::format("{} (its reply is not shown: it repeats the password)", reply.code));
}

} // namespace smtp
