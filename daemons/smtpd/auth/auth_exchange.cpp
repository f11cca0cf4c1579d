#include "daemons/smtpd/auth/auth_exchange.h"
#include "daemons/smtpd/auth/dovecot.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <chrono>
#include <utility>

namespace smtpd {

using smtp::Reply;
using AnswerKind = AuthExchange::Answer::Kind;

std::optional<Reply> too_many_connections_of(const std::string& user, const Rules& rules, common::RateLimiter& rates) {
    const auto& listener = rules.listener;
    if (user.empty() || rates.take("c" + listener.name + " " + user, listener.limits.user_connections_per_minute,
                                   std::chrono::minutes(1), common::Loop::now().monotonic))
        return {};
    return Reply{
        421, {4, 7, 0}, rules.normal.hostname + " Error: too many connections of user " + smtp::printable(user, 100)};
}

static Reply failure_reply() { return {535, {5, 7, 8}, "Error: authentication failed"}; }

// If many users share one address, they can only be locked out individually.
static Lockouts::Limits lockout_limits(const Settings& all, const Client& client) {
    const auto& settings = all.auth;
    const bool shared = client.address.is_loopback() || common::contains(all.relay.networks, client.address) ||
                        common::contains(settings.lockout_exempt, client.address);
    constexpr std::uint32_t users = 10; // that may all fail at the same time from one address
    return {settings.failures_per_network, shared ? 0 : users * settings.failures_per_network, settings.failure_window};
}

AuthExchange::AuthExchange(Services services, const Rules& rules, const Client& client, common::LogContext log,
                           Answered answered, Failed failed)
    : services_(std::move(services)), rules_(rules), client_(client), log_(log), answered_(std::move(answered)),
      failed_(std::move(failed)),
      delay_(services_.deadlines, [this] { finish({AnswerKind::failure, failure_reply()}); }) {}

std::unique_ptr<Authentication> AuthExchange::make_authentication(const tls::Session* tls) {
    const auto& settings = rules_.config->auth;
    AuthChannel channel{client_.address_text, tls != nullptr, nullptr,
                        [this](const std::string& user) { return user_locked_for(user).has_value(); }};
    if (tls && std::ranges::any_of(settings.mechanisms, [](auto& each) { return each.ends_with("-PLUS"); }))
        channel.binding = [tls](std::string_view type) { return tls->channel_binding(type); };
    AuthConcurrency checks{services_.limiter, {settings.checks, settings.checks_waiting}};
    if (!settings.dovecot.empty())
        return std::make_unique<DovecotAuthentication>(services_.loop, settings.dovecot, std::move(channel),
                                                       std::move(checks));
    return std::make_unique<PasswordAuthentication>(services_.loop, rules_.passwords, rules_.pepper, std::move(channel),
                                                    std::move(checks));
}

std::optional<smtp::Duration> AuthExchange::user_locked_for(const std::string& user) const {
    return services_.lockouts.user_locked_for(client_.network, user, lockout_limits(*rules_.config, client_),
                                              common::Loop::now().monotonic);
}

void AuthExchange::start(std::string mechanism, const smtp::Secret* initial, const tls::Session* tls) {
    mechanism_ = std::move(mechanism);
    const auto left = services_.lockouts.network_locked_for(client_.network, lockout_limits(*rules_.config, client_),
                                                            common::Loop::now().monotonic);
    if (left) return reject_locked_out(locked_out_reply("from your network", *left));
    authentication_ = make_authentication(tls);
    authentication_->start(mechanism_, initial, on_step());
}

void AuthExchange::respond(const smtp::Secret& line) {
    if (line.reveal() == "*") return finish({AnswerKind::rejection, {501, {5, 7, 0}, "Authentication aborted"}});
    authentication_->respond(line, on_step());
}

Authentication::Done AuthExchange::on_step() {
    return [this](AuthStep step) { take(step); };
}

void AuthExchange::take(const AuthStep& step) {
    const auto count = [&](common::AuthResult result) {
        services_.metrics.count(common::MetricId::authentications, result);
    };
    using Step = AuthStep::Kind;
    // The password file and Dovecot may not know about a lockout: their verdict is then not passed on.
    if (step.kind == Step::success || step.kind == Step::failure || step.kind == Step::locked_out) {
        if (const auto left = user_locked_for(step.user)) {
            count(common::AuthResult::failed);
            auto reply = locked_out_reply("of this user from your network", *left);
            report_failure(step, "locked out", reply);
            return reject_locked_out(std::move(reply));
        }
    }
    switch (step.kind) {
    case Step::challenge: return answered_({AnswerKind::challenge, {334, {}, step.text}});
    case Step::success: return take_success(step);
    case Step::malformed: {
        const Reply reply{501, {5, 5, 2}, "Error: malformed authentication response"};
        count(common::AuthResult::failed);
        report_failure(step, step.text, reply);
        return finish({AnswerKind::failure, reply});
    }
    case Step::unavailable: {
        const Reply reply{454, {4, 7, 0}, "Temporary authentication failure"};
        count(common::AuthResult::unavailable);
        report_failure(step, step.text, reply);
        return finish({AnswerKind::failure, reply});
    }
    case Step::locked_out: // since just now
    case Step::failure: {
        count(common::AuthResult::failed);
        const auto now = common::Loop::now().monotonic;
        report_failure(step, step.text, failure_reply());
        record_failure(step.user);
        delay_.set(now + rules_.config->auth.failure_delay); // guessing costs time; no other client waits
        return;
    }
    }
}

void AuthExchange::take_success(const AuthStep& step) {
    if (auto over = too_many_connections_of(step.user, rules_, services_.rates))
        return finish({AnswerKind::rejection, *std::move(over), {}, user_connections_key});
    services_.metrics.count(common::MetricId::authentications, common::AuthResult::succeeded);
    services_.lockouts.record_success(client_.network, step.user);
    finish({AnswerKind::success, {235, {2, 7, 0}, "Authentication successful"}, smtp::printable(step.user, 255)});
}

void AuthExchange::report_failure(const AuthStep& step, std::string_view why, const Reply& reply) {
    failed_(step.user, why, reply);
    log_.warning("{}: SASL {} authentication failed: {}{}{}", client_.peer(), mechanism_, smtp::printable(why, 200),
                 step.user.empty() ? "" : ", sasl_username=", smtp::printable(step.user, 255));
}

void AuthExchange::record_failure(const std::string& user) {
    const auto limits = lockout_limits(*rules_.config, client_);
    const auto brought =
        services_.lockouts.record_failure(client_.network, user, limits, common::Loop::now().monotonic);
    const auto note = [&](const std::string& whom, std::uint32_t failures) {
        log_.warning("{} from {} is locked out: {} failed authentications within {} min (auth.failures_per_network); "
                     "\"postrider reload\" lifts it",
                     whom, client_.network, failures, std::chrono::ceil<std::chrono::minutes>(limits.window).count());
    };
    auto& metrics = services_.metrics;
    if (brought.user) metrics.count(common::MetricId::lockouts, common::LockoutTarget::user);
    if (brought.network) metrics.count(common::MetricId::lockouts, common::LockoutTarget::network);
    if (brought.user) note("user " + smtp::printable(user, 255), limits.per_user);
    if (brought.network) note("every user", limits.per_network);
}

// `whom`: "from your network", "of this user from your network".
Reply AuthExchange::locked_out_reply(std::string_view whom, smtp::Duration left) const {
    const auto minutes = std::chrono::ceil<std::chrono::minutes>(left).count();
    return {421,
            {4, 7, 0},
            fmt::format("{} Error: too many failed authentications {}, try again in {} min", rules_.normal.hostname,
                        whom, minutes)};
}

void AuthExchange::reject_locked_out(Reply reply) {
    finish({AnswerKind::rejection, std::move(reply), {}, "auth.failures_per_network"});
}

// The exchange is over; its object may be the one that is calling.
void AuthExchange::finish(const Answer& answer) {
    if (authentication_) services_.loop.defer([gone = std::shared_ptr(std::move(authentication_))] {});
    answered_(answer);
}

} // namespace smtpd
