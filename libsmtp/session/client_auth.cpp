// The turns of ClientSession that are about AUTH (RFC 4954): which mechanism, challenges and answers, and
// what the end of it means.
#include "libsmtp/text/base64.h"
#include "libsmtp/session/client_session.h"
#include <algorithm>
#include <cassert>
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

void ClientSession::begin_auth() {
    const auto& auth = options_.auth;
    std::optional<SaslMechanism> best;
    bool needs_cover = false; // one is left out because there is no TLS
    for (const auto mechanism : auth.mechanisms) {
        if (!is_offered(extensions_.auth, mechanism)) continue;
        if (!secure_ && (needs_tls(mechanism) || (sends_secret_in_clear(mechanism) && !auth.without_tls)))
            needs_cover = true;
        else
            best = std::max(best.value_or(mechanism), mechanism);
    }
    if (best) {
        auth_asked_ = true;
        events_.emplace_back(client_event::AuthRequested{*best});
        return;
    }
    if (extensions_.auth.empty())
        return end_without_auth("4.7.4", fmt::format("there is an account, but AUTH was not offered by host {}{}",
                                            options_.peer, secure_ ? "" : " (there is no TLS)"));
    end_without_auth(
        "4.7.4",
        needs_cover
            ? fmt::format("the AUTH mechanisms that host {} offers reveal the password, and there is no TLS",
                          options_.peer)
            : fmt::format("none of the AUTH mechanisms that host {} offers can be used: {}", options_.peer,
                          printable(extensions_.auth, shown_mechanisms_limit)));
}

void ClientSession::authenticate(SaslClient client, Monotonic now) {
    if (over_) return;
    assert(auth_asked_);
    now_ = now;
    auth_asked_ = false;
    sasl_.emplace(std::move(client));
    const auto command = fmt::format("AUTH {}", name_of(sasl_->mechanism()));
    auto first = sasl_->initial();
    const auto size = first ? std::max<std::size_t>(1, (first->reveal().size() + 2) / 3 * 4) : 0;
    if (first && command.size() + 1 + size + 2 <= command_limit) {
        send_secret(command + " ", *first);
    } else {
        withheld_ = std::move(first);
        send(command + "\r\n", Awaited::auth);
    }
    update_deadline();
}

void ClientSession::auth_failed(std::string_view status, std::string_view why, Monotonic now) {
    if (over_) return;
    assert(auth_asked_);
    now_ = now;
    end_without_auth(status, std::string(why));
}

// "": nothing before it, and nothing of its own says "=" (which only an initial response may: RFC 4954, 4).
void ClientSession::send_secret(std::string_view before, const Secret& message) {
    auto line = encode_base64(message.reveal());
    if (line.empty() && !before.empty()) line = "=";
    commands_.reserve(commands_.size() + before.size() + line.size() + 2); // no copies are left behind
    secret_in_output_ = true;
    put(before);
    put(line);
    send("\r\n", Awaited::auth);
    explicit_bzero(line.data(), line.size());
}

void ClientSession::take_auth(const Reply& reply) {
    if (reply.code >= 300 && reply.code < 400) return answer_challenge(reply);
    if (reply.positive() && auth_cancelled_.empty() && sasl_->server_verified()) {
        sasl_.reset();
        return ready();
    }
    if (reply.positive() && auth_cancelled_.empty())
        auth_cancelled_ = "it did not prove that it knows the password";
    if (!auth_cancelled_.empty())
        return end_without_auth("4.7.0", fmt::format("AUTH {} with host {} failed: {}",
                                            name_of(sasl_->mechanism()), options_.peer, auth_cancelled_));
    auto verdict = verdict_of(Stage::auth, reply);
    if (!sasl_->server_error().empty() && !sasl_->is_revealed_by(sasl_->server_error()))
        verdict.text = printable(fmt::format("{}; before that: {}", verdict.text, sasl_->server_error()));
    fail(std::move(verdict));
    put("QUIT\r\n");
}

void ClientSession::answer_challenge(const Reply& reply) {
    if (!auth_cancelled_.empty())
        return end_without_auth("4.5.0", fmt::format("host {} continues AUTH after it was cancelled: {}",
                                            options_.peer, auth_cancelled_));
    if (const auto first = std::exchange(withheld_, std::nullopt)) return send_secret("", *first);
    const auto challenge = decode_base64(reply.text);
    auto answer =
        challenge ? sasl_->respond(*challenge) : std::unexpected(Malformed{"a challenge is not base64"});
    if (answer) return send_secret("", *answer);
    auth_cancelled_ = std::move(answer.error().why);
    send("*\r\n", Awaited::auth);
}

void ClientSession::end_without_auth(std::string_view status, std::string text) {
    Verdict verdict;
    verdict.stage = Stage::auth;
    verdict.status = status;
    verdict.text = printable(text);
    auth_asked_ = false;
    fail(std::move(verdict));
    put("QUIT\r\n");
}

} // namespace smtp
