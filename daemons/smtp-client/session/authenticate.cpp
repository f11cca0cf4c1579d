// The part of a Connection that is about AUTH: between its session, which holds the exchange, and its
// Introduction, which knows who we are.
#include "daemons/smtp-client/session/connection.h"

namespace smtp_client {

using common::Loop;

smtp::ClientSession::Auth Connection::auth_wanted() {
    if (!introduction_) // else it was made for this address, and another try
        introduction_ = Introduction::at(office_.auth, order_.rule, current_->host.account, current_->name(),
                                         current_->host.port, [this] { hook_.schedule(); });
    return introduction_ ? introduction_->auth() : smtp::ClientSession::Auth{};
}

void Connection::start_auth(smtp::SaslMechanism mechanism) {
    if (session_->over()) return;
    const auto* tls = wire_->tls();
    introduction_->begin(mechanism,
                         tls ? [tls](std::string_view type) { return tls->channel_binding(type); }
                             : Introduction::Binding(),
                         Loop::now().monotonic);
    if (watcher_) watcher_->introduces(introduction_->who());
}

void Connection::settle_auth() {
    if (!introduction_ || up_ || session_->over()) return;
    auto answer = introduction_->next();
    const auto now = Loop::now().monotonic;
    if (auto* client = std::get_if<smtp::SaslClient>(&answer))
        session_->authenticate(std::move(*client), now);
    if (auto* problem = std::get_if<Introduction::Problem>(&answer))
        session_->auth_failed(problem->status, problem->text, now);
}

void Connection::authenticated() {
    if (!introduction_) return;
    introduction_->accepted();
    voice().info("authenticated to {} as {}", relay(), introduction_->who());
}

// A token that was kept may be worth nothing any more: once more to the same address with a new one. What is
// refused for good is told to the connections that wait with the same.
bool Connection::again_with_new_token(const smtp::Verdict& why) {
    if (!introduction_ || why.stage != smtp::Stage::auth || why.code < 500) return false;
    if (!introduction_->refused(why.text, Loop::now().monotonic)) return false;
    voice().info("{}; trying again with a new token", why.text);
    same_address_again();
    return true;
}

} // namespace smtp_client
