// AUTH of one client: the exchange in progress, lock-outs, the delay of a refusal, its metrics and log lines.
// Returns the replies; must not know the session.
#pragma once
#include "daemons/common/crypto/tls/session.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/submission/rate_limits.h"
#include "daemons/smtpd/auth/authentication.h"
#include "daemons/smtpd/auth/lockouts.h"
#include "daemons/smtpd/policy/relay_policy.h"
#include "daemons/smtpd/policy/rules.h"
#include "libsmtp/auth/secret.h"
#include "libsmtp/protocol/reply.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace smtpd {

inline constexpr std::string_view user_connections_key = "user_connections_per_minute"; // in the configuration
// Counts one more connection of this user; the reply if it exceeds the limit. An empty name has no limit.
std::optional<smtp::Reply> too_many_connections_of(const std::string& user, const Rules& rules,
                                                   common::RateLimiter& rates);

class AuthExchange {
public:
    // Of the worker; all outlive it.
    struct Services {
        common::Loop& loop;
        common::Deadlines& deadlines;
        common::Metrics& metrics;
        Lockouts& lockouts;
        common::RateLimiter& rates;
        std::shared_ptr<ConcurrencyLimiter> limiter;
    };
    struct Answer {
        enum class Kind : std::uint8_t {
            challenge,
            success,   // as `user`, printable
            failure,   // the log has its line
            rejection, // to be logged as every reply that rejects
        };
        Kind kind = Kind::failure;
        smtp::Reply reply;
        std::string user = {};
        std::string_view limit = {}; // rejection: the key of the limit that is exceeded; "" none is
    };
    // Once for each start() and respond(), perhaps at once; may call them.
    using Answered = std::function<void(const Answer&)>;
    // A failure, as it is found: `user` as the client sent it, "" not known; `reply`: which is given, perhaps later.
    using Failed = std::function<void(std::string_view user, std::string_view why, const smtp::Reply& reply)>;

    // `rules` and `client` outlive it; `client` is the one that is speaking now.
    AuthExchange(Services services, const Rules& rules, const Client& client, common::LogContext log, Answered answered,
                 Failed failed);
    AuthExchange(const AuthExchange&) = delete;

    // `initial`: base64, null if there is none. `tls`: null in plain text; outlives the exchange.
    void start(std::string mechanism, const smtp::Secret* initial, const tls::Session* tls);
    // An AuthLine: base64, or "*".
    void respond(const smtp::Secret& line);
    const std::string& mechanism() const { return mechanism_; }

private:
    std::unique_ptr<Authentication> make_authentication(const tls::Session* tls);
    std::optional<smtp::Duration> user_locked_for(const std::string& user) const;
    Authentication::Done on_step();
    void take(const AuthStep& step);
    void take_success(const AuthStep& step);
    void report_failure(const AuthStep& step, std::string_view why, const smtp::Reply& reply);
    void record_failure(const std::string& user);
    smtp::Reply locked_out_reply(std::string_view whom, smtp::Duration left) const;
    void reject_locked_out(smtp::Reply reply);
    void finish(const Answer& answer);

    Services services_;
    const Rules& rules_;
    const Client& client_;
    common::LogContext log_;
    Answered answered_;
    Failed failed_;
    std::unique_ptr<Authentication> authentication_; // the exchange in progress
    std::string mechanism_;
    common::Deadline delay_; // of a refusal
};

} // namespace smtpd
