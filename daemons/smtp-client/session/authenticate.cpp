// The part of a Connection that is about AUTH: between its session, which holds the exchange, and its
// Authenticator, which knows who we are.
#include "daemons/smtp-client/session/connection.h"

namespace smtp_client {

using common::Loop;

smtp::ClientSession::Auth Connection::auth_options() {
    if (!authenticator_) // else it was made for this address, and another try
        authenticator_ = Authenticator::for_host(context_.auth, order_.rule, current_->host.account, current_->name(),
                                         current_->host.port, [this] { hook_.schedule(); });
    return authenticator_ ? authenticator_->auth() : smtp::ClientSession::Auth{};
}

void Connection::start_auth(smtp::SaslMechanism mechanism) {
    if (session_->over()) return;
    const auto* tls = stream_->tls();
    authenticator_->begin(mechanism,
                         tls ? [tls](std::string_view type) { return tls->channel_binding(type); }
                             : Authenticator::Binding(),
                         Loop::now().monotonic);
    if (observer_) observer_->authenticating(authenticator_->description());
}

void Connection::continue_auth() {
    if (!authenticator_ || up_ || session_->over()) return;
    auto answer = authenticator_->next();
    const auto now = Loop::now().monotonic;
    if (auto* client = std::get_if<smtp::SaslClient>(&answer))
        session_->authenticate(std::move(*client), now);
    if (auto* problem = std::get_if<Authenticator::Problem>(&answer))
        session_->auth_failed(problem->status, problem->text, now);
}

void Connection::authenticated() {
    if (!authenticator_) return;
    authenticator_->accepted();
    log_context().info("authenticated to {} as {}", relay(), authenticator_->description());
}

// A token that was kept may be worth nothing any more: once more to the same address with a new one. What is
// refused for good is told to the connections that wait with the same.
bool Connection::retry_with_new_token(const smtp::Verdict& why) {
    if (!authenticator_ || why.stage != smtp::Stage::auth || why.code < 500) return false;
    if (!authenticator_->rejected(why.text, Loop::now().monotonic)) return false;
    log_context().info("{}; trying again with a new token", why.text);
    retry_same_address();
    return true;
}

} // namespace smtp_client
