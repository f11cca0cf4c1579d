// How a Connection answers AUTH.
#include "daemons/smtpd/connection.h"
#include "daemons/smtpd/dovecot.h"
#include <algorithm>

namespace smtpd {

using smtp::Reply;
using Kind = AuthStep::Kind;

std::unique_ptr<Authentication> Connection::make_authentication() {
    AuthChannel channel{client_.address_text, session_.secured(), nullptr};
    const auto& settings = rules_->config->auth;
    if (tls_ && std::ranges::any_of(settings.mechanisms, [](auto& each) { return each.ends_with("-PLUS"); }))
        channel.binding = [this](std::string_view type) { return tls_->channel_binding(type); };
    AuthChecks checks{service_.auth_checks, {settings.checks, settings.checks_waiting}};
    if (!settings.dovecot.empty())
        return std::make_unique<DovecotAuthentication>(service_.loop, settings.dovecot, std::move(channel),
                                                       std::move(checks));
    return std::make_unique<PasswordAuthentication>(service_.loop, rules_->passwords, rules_->pepper,
                                                    std::move(channel), std::move(checks));
}

void Connection::operator()(smtp::event::Auth& auth) {
    const auto& settings = rules_->config->auth;
    const auto now = common::Loop::now().monotonic;
    auth_method_ = std::move(auth.mechanism);
    if (service_.guesses.too_many(client_.network, settings.failures_per_network, now,
                                  settings.failure_window)) {
        const Reply reply{
            421, {4, 7, 0}, rules_->normal.hostname + " Error: too many failed authentications"};
        return reject("AUTH", reply);
    }
    authentication_ = make_authentication();
    authentication_->start(auth_method_, auth.initial ? &*auth.initial : nullptr, auth_step());
}

void Connection::operator()(smtp::event::AuthLine& line) {
    if (line.text.reveal() == "*") {
        authentication_.reset();
        return reject("AUTH", {501, {5, 7, 0}, "Authentication aborted"});
    }
    authentication_->respond(line.text, auth_step());
}

// One more connection of this user; the reply if it is one too many. "": nobody.
std::optional<Reply> Connection::too_many_connections_of(const std::string& user) {
    const auto& listener = rules_->listener;
    if (user.empty() ||
        service_.rates.take("c" + listener.name + " " + user, listener.limits.user_connections_per_minute,
                            std::chrono::minutes(1), common::Loop::now().monotonic))
        return {};
    return Reply{421,
                 {4, 7, 0},
                 rules_->normal.hostname + " Error: too many connections of user " + smtp::printable(user, 100)};
}

Authentication::Done Connection::auth_step() {
    return [this](AuthStep step) {
        heed(step);
        pump();
    };
}

void Connection::heed(const AuthStep& step) {
    const auto fail = [&](std::string_view why) {
        voice().warning("{}: SASL {} authentication failed: {}{}{}", client_.peer(), auth_method_,
                        smtp::printable(why, 200),
                        step.user.empty() ? "" : ", sasl_username=", smtp::printable(step.user, 255));
    };
    const auto count = [&](common::AuthResult result) {
        service_.figures.count(common::Family::authentications, result);
    };
    switch (step.kind) {
    case Kind::challenge: return answer({334, {}, step.text});
    case Kind::success:
        if (const auto over = too_many_connections_of(step.user)) {
            reject("AUTH", *over);
            break;
        }
        count(common::AuthResult::succeeded);
        client_.user = smtp::printable(step.user, 255);
        client_.auth_method = auth_method_;
        answer({235, {2, 7, 0}, "Authentication successful"});
        break;
    case Kind::malformed:
        count(common::AuthResult::failed);
        fail(step.text);
        answer({501, {5, 5, 2}, "Error: malformed authentication response"});
        break;
    case Kind::unavailable:
        count(common::AuthResult::unavailable);
        fail(step.text);
        answer({454, {4, 7, 0}, "Temporary authentication failure"});
        break;
    case Kind::failure: {
        count(common::AuthResult::failed);
        const auto& settings = rules_->config->auth;
        const auto now = common::Loop::now().monotonic;
        service_.guesses.failed(client_.network, now, settings.failure_window);
        fail(step.text);
        auth_delay_.set(now + settings.failure_delay); // guessing costs time; nobody else waits
        return;
    }
    }
    loose_end();
}

void Connection::auth_refused() {
    answer({535, {5, 7, 8}, "Error: authentication failed"});
    loose_end();
    pump();
}

// The exchange is over; its object may be the one that is calling.
void Connection::loose_end() {
    if (authentication_) service_.loop.later([gone = std::shared_ptr(std::move(authentication_))] {});
}

} // namespace smtpd
