#include "daemons/smtp-client/auth/authenticator.h"
#include "daemons/common/crypto/auth/password_file.h"
#include "daemons/common/crypto/auth/saslprep.h"
#include "daemons/common/runtime/random.h"
#include "libsmtp/text/base64.h"
#include <algorithm>
#include <fmt/format.h>

namespace smtp_client {

using smtp::SaslMechanism;

void AuthContext::use(std::shared_ptr<const auth::Credentials> accounts, const std::vector<decide::RouteRule>& routes) {
    accounts_ = std::move(accounts);
    rules_.clear();
    for (const auto& route : routes)
        if (route.auth != decide::AuthRule{}) rules_[route.pattern] = route.auth;
    derived_.clear();
    throttle_.reset();
    update_problem();
}

void AuthContext::update_problem() {
    const auto rejected_accounts = throttle_.rejected_accounts();
    std::string text = rejected_accounts.empty() ? "" : "credentials refused: " + rejected_accounts.front();
    if (rejected_accounts.size() > 1) text += fmt::format(" (and {} more)", rejected_accounts.size() - 1);
    if (text != reported_problem_) report_problem_(reported_problem_ = text);
}

std::unique_ptr<Authenticator> Authenticator::for_host(AuthContext& context, std::string_view rule,
                                                       const std::string& user, const std::string& host,
                                                       std::uint16_t port, std::function<void()> wake) {
    auto accounts = context.accounts_;
    const auto* account = accounts->find(host, port, user);
    if (!account && user.empty()) return nullptr;
    const auto own = context.rules_.find(rule);
    auto asked = own == context.rules_.end() ? decide::AuthRule{} : own->second;
    if (asked.never) return nullptr;
    if (!account) { // without secret and command: next() says what is missing
        auto none = std::make_shared<auth::Credentials>();
        auth::Account missing;
        missing.host = host, missing.port = port, missing.user = user;
        none->accounts.push_back(std::move(missing));
        account = &none->accounts.front();
        accounts = std::move(none);
    }
    return std::unique_ptr<Authenticator>(
        new Authenticator(context, std::move(accounts), *account, std::move(asked), host, port, std::move(wake)));
}

Authenticator::Authenticator(AuthContext& context, std::shared_ptr<const auth::Credentials> accounts,
                             const auth::Account& account, decide::AuthRule rule, std::string host, std::uint16_t port,
                             std::function<void()> wake)
    : context_(context), accounts_(std::move(accounts)), account_(account), rule_(std::move(rule)),
      host_(std::move(host)), port_(port), wake_(std::move(wake)) {}

Authenticator::~Authenticator() {
    if (pending_token_) pending_token_->wake = {};
}

smtp::ClientSession::Auth Authenticator::auth() const {
    smtp::ClientSession::Auth out;
    out.without_tls = rule_.without_tls;
    for (int i = 0; i <= static_cast<int>(SaslMechanism::last_); ++i) {
        const auto mechanism = static_cast<SaslMechanism>(i);
        const bool allowed = rule_.mechanisms.empty() ||
                             std::ranges::find(rule_.mechanisms, name_of(mechanism)) != rule_.mechanisms.end();
        if (allowed && needs_token(mechanism) == !account_.command.empty()) out.mechanisms.push_back(mechanism);
    }
    return out;
}

void Authenticator::begin(SaslMechanism mechanism, Binding binding, smtp::Monotonic now) {
    mechanism_ = mechanism;
    binding_ = std::move(binding);
    answered_ = false;
    ticket_ = context_.throttle_.request(account_.name(), now, wake_);
}

std::variant<std::monostate, smtp::SaslClient, Authenticator::Problem> Authenticator::next() {
    if (answered_ || !ticket_) return {};
    const auto none = [&](std::string text) {
        answered_ = true;
        ticket_.reset();
        return Problem{"4.7.8", std::move(text)};
    };
    if (account_.command.empty() && account_.password.empty())
        return none(fmt::format("smtp_client.credentials has no account {}", account_.name()));
    if (!ticket_->rejection().empty())
        return none(fmt::format("{} was refused recently and is not tried again immediately: {}", account_.name(),
                                ticket_->rejection()));
    if (!ticket_->granted()) return {};
    if (account_.command.empty()) {
        answered_ = true;
        return client(account_.password.copy());
    }
    if (!pending_token_) {
        pending_token_ = std::make_shared<PendingToken>(PendingToken{{}, wake_});
        context_.request_token_(account_.name(), rejected_token_,
                                [pending_token = pending_token_](common::Token token) {
                                    pending_token->token = std::move(token);
                                    if (pending_token->wake) pending_token->wake();
                                });
    }
    if (!pending_token_->token) return {};
    auto token = std::move(*pending_token_->token);
    pending_token_.reset();
    if (!token.problem.empty())
        return none(fmt::format("no token for {}: its command: {}", account_.name(), token.problem));
    answered_ = true;
    token_ = token.number;
    token_is_fresh_ = token.fresh;
    return client(std::move(token.text));
}

smtp::SaslClient Authenticator::client(smtp::Secret secret) {
    if (mechanism_ < SaslMechanism::scram_sha_256) return {mechanism_, account_.user, std::move(secret), host_, port_};
    auto derive = [&context = context_, name = account_.name()](std::string_view password, std::string_view salt,
                                                                std::uint32_t iterations) {
        auto& known = context.derived_[name];
        if (known.salt != salt || known.iterations != iterations)
            known = {std::string(salt), iterations, auth::salted_password(password, salt, iterations)};
        return known.key.copy();
    };
    auto password = secret.copy();
    return {mechanism_, std::move(secret),
            smtp::ScramClient(auth::scram_crypto, std::move(derive), auth::saslprep(account_.user), std::move(password),
                              smtp::encode_base64(common::random_bytes(18)), channel_binding())};
}

// RFC 9266; before TLS 1.3 the server's certificate stands for the channel (RFC 5929, 4).
smtp::ScramClient::Binding Authenticator::channel_binding() const {
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

void Authenticator::accepted() {
    if (ticket_) ticket_->accepted();
    ticket_.reset();
    context_.update_problem();
}

bool Authenticator::rejected(const std::string& why, smtp::Monotonic now) {
    if (!token_is_fresh_) { // not the account's fault: the token expired earlier than announced
        rejected_token_ = token_;
        ticket_.reset();
        return true;
    }
    if (ticket_) ticket_->rejected(why, now);
    ticket_.reset();
    context_.update_problem();
    return false;
}

std::string Authenticator::description() const { return fmt::format("{} ({})", account_.name(), name_of(mechanism_)); }

} // namespace smtp_client
