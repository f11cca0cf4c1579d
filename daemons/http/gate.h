// Who may come in: checks host and origin of a request, identifies its caller by token, by a browser's session or, on
// the socket, by user, and limits the rate of each token. Failures are logged in a line that fail2ban's filter finds;
// too many of them lock a network out. Knows no routes.
#pragma once
#include "daemons/common/config/sections/system/http.h"
#include "daemons/common/ipc/operators.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/runtime/watched_file.h"
#include "daemons/common/submission/rate_limits.h"
#include "daemons/common/tokens/token.h"
#include "daemons/common/web/message.h"
#include "daemons/http/browser/login.h"
#include "daemons/http/failed_tokens.h"
#include "daemons/http/requests/call.h"
#include "daemons/http/requests/host_check.h"
#include "daemons/http/requests/router.h"
#include "daemons/http/sessions.h"
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace http {

class Gate final : public Login {
public:
    using ReportProblem = std::function<void(std::string_view)>;

    // `directory`: of the file of tokens.
    Gate(common::Log& log, common::Metrics& metrics, const std::string& directory, ReportProblem report_problem);
    // Lifts lockouts.
    void configure(common::Operators operators, HostNames names, const config::Http& settings);

    std::optional<Problem> check_origin(const web::Request& request) const {
        return http::check_origin(request, names_);
    }
    // Of a new request for a route that needs a token: counts for the limits of token and network.
    std::expected<Caller, Denial> admit(const web::Request& request, const Route& route, smtp::Now now);
    // Of the same request later: its token may have been removed.
    std::expected<Caller, Denial> identify(const web::Request& request, const Route& route, smtp::Now now);

    std::optional<std::string> user_of(const web::Request& request) const override;
    std::expected<std::string, Denial> log_in(const web::Request& request, std::string_view secret,
                                              smtp::Now now) override;
    void log_out(const web::Request& request) override;

private:
    std::optional<Denial> lockout(const web::Request& request, smtp::Now now) const;
    std::expected<Caller, Denial> known_caller(const web::Request& request, const Route& route, smtp::Now now);
    std::expected<Caller, Denial> caller_of_session(const web::Request& request, smtp::Now now);
    std::expected<Caller, Denial> caller_of_token(const web::Request& request, smtp::Now now);
    void refresh(smtp::Now now);
    std::expected<const tokens::Token*, Denial> check_token(const web::Request& request, std::string_view secret,
                                                            smtp::Now now);
    Denial failed(const web::Request& request, std::string_view why, smtp::Now now);
    bool can_be_locked_out(const web::Client& client) const;

    common::Log& log_;
    common::Metrics& metrics_;
    ReportProblem report_problem_;
    common::WatchedFile file_;
    std::vector<tokens::Token> tokens_;
    common::Operators operators_;
    HostNames names_;
    common::RateLimiter rates_;
    Sessions sessions_{Login::lifetime};
    FailedTokens failed_tokens_;
    FailedTokens::Limits failure_limits_;
    std::vector<common::Network> lockout_exempt_;
};

} // namespace http
