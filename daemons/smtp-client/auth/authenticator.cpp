#include "daemons/smtp-client/auth/authenticator.h"
#include "daemons/common/crypto/auth/password_file.h"
#include "daemons/common/crypto/auth/saslprep.h"
#include "daemons/common/runtime/random.h"
#include "libsmtp/text/base64.h"
#include <algorithm>
#include <fmt/format.h>

namespace smtp_client {

using smtp::SaslMechanism;

void AuthDesk::use(std::shared_ptr<const auth::Credentials> accounts,
                   const std::vector<decide::RouteRule>& routes) {
    accounts_ = std::move(accounts);
    rules_.clear();
    for (const auto& route : routes)
        if (route.auth != decide::AuthRule{}) rules_[route.pattern] = route.auth;
    derived_.clear();
    turns_.forget();
    tell_trouble();
}

void AuthDesk::tell_trouble() {
    const auto refusals = turns_.refusals();
    std::string text = refusals.empty() ? "" : "credentials refused: " + refusals.front();
    if (refusals.size() > 1) text += fmt::format(" (and {} more)", refusals.size() - 1);
    if (text != troubled_) trouble_(troubled_ = text);
}

std::unique_ptr<Introduction> Introduction::at(AuthDesk& desk, std::string_view rule, const std::string& user,
                                               const std::string& host, std::uint16_t port,
                                               std::function<void()> wake) {
    auto accounts = desk.accounts_;
    const auto* account = accounts->find(host, port, user);
    if (!account && user.empty()) return nullptr;
    const auto own = desk.rules_.find(rule);
    auto asked = own == desk.rules_.end() ? decide::AuthRule{} : own->second;
    if (asked.never) return nullptr;
    if (!account) { // without secret and command: next() says what is missing
        auto none = std::make_shared<auth::Credentials>();
        auth::Account missing;
        missing.host = host, missing.port = port, missing.user = user;
        none->accounts.push_back(std::move(missing));
        account = &none->accounts.front();
        accounts = std::move(none);
    }
    return std::unique_ptr<Introduction>(
        new Introduction(desk, std::move(accounts), *account, std::move(asked), host, port, std::move(wake)));
}

Introduction::Introduction(AuthDesk& desk, std::shared_ptr<const auth::Credentials> accounts,
                           const auth::Account& account, decide::AuthRule rule, std::string host,
                           std::uint16_t port, std::function<void()> wake)
    : desk_(desk), accounts_(std::move(accounts)), account_(account), rule_(std::move(rule)),
      host_(std::move(host)), port_(port), wake_(std::move(wake)) {}

Introduction::~Introduction() {
    if (slot_) slot_->wake = {};
}

smtp::ClientSession::Auth Introduction::auth() const {
    smtp::ClientSession::Auth out;
    out.without_tls = rule_.without_tls;
    for (int i = 0; i <= static_cast<int>(SaslMechanism::last_); ++i) {
        const auto mechanism = static_cast<SaslMechanism>(i);
        const bool allowed =
            rule_.mechanisms.empty() ||
            std::ranges::find(rule_.mechanisms, name_of(mechanism)) != rule_.mechanisms.end();
        if (allowed && needs_token(mechanism) == !account_.command.empty())
            out.mechanisms.push_back(mechanism);
    }
    return out;
}

void Introduction::begin(SaslMechanism mechanism, Binding binding, smtp::Monotonic now) {
    mechanism_ = mechanism;
    binding_ = std::move(binding);
    answered_ = false;
    turn_ = desk_.turns_.ask(account_.name(), now, wake_);
}

std::variant<std::monostate, smtp::SaslClient, Introduction::Problem> Introduction::next() {
    if (answered_ || !turn_) return {};
    const auto none = [&](std::string text) {
        answered_ = true;
        turn_.reset();
        return Problem{"4.7.8", std::move(text)};
    };
    if (account_.command.empty() && account_.password.empty())
        return none(fmt::format("smtp_client.credentials has no account {}", account_.name()));
    if (!turn_->refused_before().empty())
        return none(fmt::format("{} has just been refused, and is not tried again at once: {}",
                                account_.name(), turn_->refused_before()));
    if (!turn_->has_come()) return {};
    if (account_.command.empty()) {
        answered_ = true;
        return client(account_.password.copy());
    }
    if (!slot_) {
        slot_ = std::make_shared<Slot>(Slot{{}, wake_});
        desk_.ask_token_(account_.name(), refused_token_, [slot = slot_](common::Token token) {
            slot->token = std::move(token);
            if (slot->wake) slot->wake();
        });
    }
    if (!slot_->token) return {};
    auto token = std::move(*slot_->token);
    slot_.reset();
    if (!token.problem.empty())
        return none(fmt::format("no token for {}: its command: {}", account_.name(), token.problem));
    answered_ = true;
    token_ = token.number;
    fresh_ = token.fresh;
    return client(std::move(token.text));
}

smtp::SaslClient Introduction::client(smtp::Secret secret) {
    if (mechanism_ < SaslMechanism::scram_sha_256)
        return {mechanism_, account_.user, std::move(secret), host_, port_};
    auto derive = [&desk = desk_, name = account_.name()](std::string_view password, std::string_view salt,
                                                          std::uint32_t iterations) {
        auto& known = desk.derived_[name];
        if (known.salt != salt || known.iterations != iterations)
            known = {std::string(salt), iterations, auth::salted_password(password, salt, iterations)};
        return known.key.copy();
    };
    auto password = secret.copy();
    return {mechanism_, std::move(secret),
            smtp::ScramClient(auth::scram_crypto, std::move(derive), auth::saslprep(account_.user), std::move(password),
                              smtp::encode_base64(common::random_bytes(18)), bind())};
}

// RFC 9266; before TLS 1.3 the server's certificate stands for the channel (RFC 5929, 4).
smtp::ScramClient::Binding Introduction::bind() const {
    if (!binding_) return {};
    for (const auto* type : {"tls-exporter", "tls-server-end-point"}) {
        auto data = binding_(type);
        if (data.empty()) continue;
        if (mechanism_ == SaslMechanism::scram_sha_256_plus) return {type, std::move(data), false};
        const auto can = auth().mechanisms;
        return {"", "", std::ranges::find(can, SaslMechanism::scram_sha_256_plus) != can.end()};
    }
    return {};
}

void Introduction::accepted() {
    if (turn_) turn_->accepted();
    turn_.reset();
    desk_.tell_trouble();
}

bool Introduction::refused(const std::string& why, smtp::Monotonic now) {
    if (!fresh_) { // nobody's fault: the token lived shorter than it was said to
        refused_token_ = token_;
        turn_.reset();
        return true;
    }
    if (turn_) turn_->refused(why, now);
    turn_.reset();
    desk_.tell_trouble();
    return false;
}

std::string Introduction::who() const { return fmt::format("{} ({})", account_.name(), name_of(mechanism_)); }

} // namespace smtp_client
