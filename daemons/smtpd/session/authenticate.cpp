// How a Connection answers AUTH.
#include "daemons/smtpd/session/connection.h"
#include "daemons/smtpd/auth/dovecot.h"
#include <algorithm>

namespace smtpd {

using smtp::Reply;
using Kind = AuthStep::Kind;

std::unique_ptr<Authentication> Connection::make_authentication() {
    const auto& settings = rules_->config->auth;
    AuthChannel channel{client_.address_text, session_.tls_active(), nullptr, [this](const std::string& user) {
                            return worker_.lockouts
                                .user_locked_for(client_.network, user, lockout_limits(),
                                                 common::Loop::now().monotonic)
                                .has_value();
                        }};
    if (tls_ && std::ranges::any_of(settings.mechanisms, [](auto& each) { return each.ends_with("-PLUS"); }))
        channel.binding = [this](std::string_view type) { return tls_->channel_binding(type); };
    AuthConcurrency checks{worker_.auth_limiter, {settings.checks, settings.checks_waiting}};
    if (!settings.dovecot.empty())
        return std::make_unique<DovecotAuthentication>(worker_.loop, settings.dovecot, std::move(channel),
                                                       std::move(checks));
    return std::make_unique<PasswordAuthentication>(worker_.loop, rules_->passwords, rules_->pepper,
                                                    std::move(channel), std::move(checks));
}

// Where many users are behind one address, only they can be locked out, one by one.
Lockouts::Limits Connection::lockout_limits() const {
    const auto& settings = rules_->config->auth;
    const bool shared =
        client_.address.is_loopback() || common::contains(rules_->config->relay.networks, client_.address) ||
        common::contains(settings.lockout_exempt, client_.address);
    constexpr std::uint32_t users = 10; // who may all be wrong at the same time behind one address
    return {settings.failures_per_network, shared ? 0 : users * settings.failures_per_network, settings.failure_window};
}

// `whom`: "from your network", "of this user from your network".
void Connection::reject_locked_out(std::string_view whom, smtp::Duration left) {
    const auto minutes = std::chrono::ceil<std::chrono::minutes>(left).count();
    reject(smtp::Verb::auth, {421, {4, 7, 0},
                    fmt::format("{} Error: too many failed authentications {}, try again in {} min",
                                rules_->normal.hostname, whom, minutes)});
}

void Connection::record_auth_failure(const std::string& user) {
    const auto now = common::Loop::now().monotonic;
    const auto limits = lockout_limits();
    const auto brought = worker_.lockouts.record_failure(client_.network, user, limits, now);
    const auto note = [&](const std::string& whom, std::uint32_t failures) {
        log_context().warning(
            "{} from {} is locked out: {} failed authentications within {} min (auth.failures_per_network); \"postrider reload\" lifts it",
            whom, client_.network, failures, std::chrono::ceil<std::chrono::minutes>(limits.window).count());
    };
    if (brought.user) worker_.metrics.count(common::MetricId::lockouts, common::LockoutTarget::user);
    if (brought.network) worker_.metrics.count(common::MetricId::lockouts, common::LockoutTarget::network);
    if (brought.user) note("user " + smtp::printable(user, 255), limits.per_user);
    if (brought.network) note("every user", limits.per_network);
}

void Connection::operator()(smtp::event::Auth& auth) {
    const auto now = common::Loop::now().monotonic;
    auth_method_ = std::move(auth.mechanism);
    if (const auto left = worker_.lockouts.network_locked_for(client_.network, lockout_limits(), now))
        return reject_locked_out("from your network", *left);
    authentication_ = make_authentication();
    authentication_->start(auth_method_, auth.initial ? &*auth.initial : nullptr, auth_step());
}

void Connection::operator()(smtp::event::AuthLine& line) {
    if (line.text.reveal() == "*") {
        authentication_.reset();
        return reject(smtp::Verb::auth, {501, {5, 7, 0}, "Authentication aborted"});
    }
    authentication_->respond(line.text, auth_step());
}

// One more connection of this user; the reply if it is one too many. "": nobody.
std::optional<Reply> Connection::too_many_connections_of(const std::string& user) {
    const auto& listener = rules_->listener;
    if (user.empty() ||
        worker_.rates.take("c" + listener.name + " " + user, listener.limits.user_connections_per_minute,
                            std::chrono::minutes(1), common::Loop::now().monotonic))
        return {};
    return Reply{421,
                 {4, 7, 0},
                 rules_->normal.hostname + " Error: too many connections of user " + smtp::printable(user, 100)};
}

Authentication::Done Connection::auth_step() {
    return [this](AuthStep step) {
        on_auth_step(step);
        pump();
    };
}

void Connection::on_auth_step(const AuthStep& step) {
    const auto fail = [&](std::string_view why) {
        log_context().warning("{}: SASL {} authentication failed: {}{}{}", client_.peer(), auth_method_,
                        smtp::printable(why, 200),
                        step.user.empty() ? "" : ", sasl_username=", smtp::printable(step.user, 255));
    };
    const auto count = [&](common::AuthResult result) {
        worker_.metrics.count(common::MetricId::authentications, result);
    };
    // Whoever decides may not know of a lock-out: what he says of the password is then not passed on.
    const bool decided = step.kind == Kind::success || step.kind == Kind::failure || step.kind == Kind::locked_out;
    if (decided) {
        const auto left = worker_.lockouts.user_locked_for(client_.network, step.user, lockout_limits(),
                                                    common::Loop::now().monotonic);
        if (left) {
            count(common::AuthResult::failed);
            fail("locked out");
            reject_locked_out("of this user from your network", *left);
            return end_authentication();
        }
    }
    switch (step.kind) {
    case Kind::challenge: return answer({334, {}, step.text});
    case Kind::success:
        if (const auto over = too_many_connections_of(step.user)) {
            reject(smtp::Verb::auth, *over);
            break;
        }
        count(common::AuthResult::succeeded);
        worker_.lockouts.record_success(client_.network, step.user);
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
    case Kind::locked_out: // over just now
    case Kind::failure: {
        count(common::AuthResult::failed);
        const auto& settings = rules_->config->auth;
        const auto now = common::Loop::now().monotonic;
        fail(step.text);
        record_auth_failure(step.user);
        auth_delay_.set(now + settings.failure_delay); // guessing costs time; nobody else waits
        return;
    }
    }
    end_authentication();
}

void Connection::reject_auth() {
    answer({535, {5, 7, 8}, "Error: authentication failed"});
    end_authentication();
    pump();
}

// The exchange is over; its object may be the one that is calling.
void Connection::end_authentication() {
    if (authentication_) worker_.loop.defer([gone = std::shared_ptr(std::move(authentication_))] {});
}

} // namespace smtpd
