#include "daemons/http/gate.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/common/tokens/token_file.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace http {

using namespace std::chrono_literals;
using tokens::Scope;
using tokens::Token;

namespace {

bool may(const tokens::Scopes& scopes, const Route& route) {
    return scopes.has(*route.scope) || (route.or_scope && scopes.has(*route.or_scope));
}

Denial forbidden(Scope scope) {
    return {{403, "missing-scope",
             fmt::format("The token does not have the scope \"{}\", which this needs.", tokens::name_of(scope))}};
}

Denial locked_out(smtp::Duration left) {
    const auto seconds = static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(left).count());
    return {{429, "locked-out",
             "Too many invalid tokens came from this network: no token is accepted from it for a while.", seconds}};
}

Denial unauthorized() {
    return {{401, "no-token",
             "A token is needed, in the header field Authorization: Bearer prt_…; \"postrider token add\" makes one."}};
}

} // namespace

Gate::Gate(common::Log& log, common::Metrics& metrics, const std::string& directory, ReportProblem report_problem)
    : log_(log), metrics_(metrics), report_problem_(std::move(report_problem)),
      file_(directory + "/" + std::string(tokens::file_name)) {}

// Tokens that cannot be read are not replaced: an error in the file changes nothing.
void Gate::refresh(smtp::Now now) {
    using Change = common::WatchedFile::Change;
    auto change = file_.check(now);
    if (change == Change::none) return;
    if (change == Change::failed && file_.missing()) {
        tokens_.clear();
        return report_problem_("");
    }
    if (change == Change::changed) {
        const auto text = common::read_bounded(file_.path(), tokens::largest_file);
        auto read = text ? tokens::parse(*text) : std::unexpected(std::string(std::strerror(text.error())));
        if (read) {
            tokens_ = *std::move(read);
            file_.clear_problem();
            log_.info("tokens: {} in force", tokens_.size());
            return report_problem_("");
        }
        change = file_.failed(read.error());
    }
    if (change != Change::failed) return;
    log_.error("{}: {}; the previous tokens stay in force", file_.path(), file_.problem());
    report_problem_(fmt::format("{}: {}", file_.path(), file_.problem()));
}

void Gate::configure(common::Operators operators, HostNames names, const config::Http& settings) {
    operators_ = std::move(operators);
    names_ = std::move(names);
    failure_limits_ = {.per_network = settings.failures_per_network, .window = settings.failure_window};
    lockout_exempt_ = settings.lockout_exempt;
    failed_tokens_.clear();
}

// A token from a network that is locked out is not compared: the answer does not depend on its validity.
std::expected<Caller, Denial> Gate::admit(const web::Request& request, const Route& route, smtp::Now now) {
    if (request.has_header("authorization") && can_be_locked_out(request.client))
        if (const auto left = failed_tokens_.locked_for(*request.client.address, failure_limits_, now.monotonic))
            return std::unexpected(locked_out(*left));
    auto caller = identify(request, route, now);
    if (!caller || rates_.take(caller->principal.name, caller->rate, 1s, now.monotonic)) return caller;
    return std::unexpected(Denial{
        {429, "too-many-requests", fmt::format("This token may send {} requests per second.", caller->rate), 1}});
}

std::expected<Caller, Denial> Gate::identify(const web::Request& request, const Route& route, smtp::Now now) {
    refresh(now);
    if (!request.has_header("authorization")) {
        if (!request.client.user || !operators_.includes(*request.client.user)) return std::unexpected(unauthorized());
        const auto uid = request.client.user->uid;
        Caller caller{.principal = {uid, {}}, .submitter = fmt::format("uid:{}", uid)};
        for (auto each : {Scope::read, Scope::read_content, Scope::submit, Scope::operate, Scope::remove,
                          Scope::suppress, Scope::admin})
            caller.scopes.add(each);
        if (!may(caller.scopes, route)) return std::unexpected(forbidden(*route.scope));
        return caller;
    }
    const auto field = request.header("authorization");
    const auto space = std::min(field.find(' '), field.size());
    if (!smtp::same_ignoring_case(field.substr(0, space), "Bearer"))
        return std::unexpected(failed(request, "not a bearer token", now));
    const auto token = check_token(request, field.substr(std::min(space + 1, field.size())), now);
    if (!token) return std::unexpected(token.error());
    const auto& found = **token;
    if (!may(found.scopes, route)) return std::unexpected(forbidden(*route.scope));
    return Caller{.principal = {0, "token " + found.name},
                  .scopes = found.scopes,
                  .submitter = found.submitter,
                  .sender_domains = found.sender_domains,
                  .rate = found.rate};
}

std::expected<const Token*, Denial> Gate::check_token(const web::Request& request, std::string_view secret,
                                                      smtp::Now now) {
    if (secret.size() > tokens::longest_secret) return std::unexpected(failed(request, "unknown token", now));
    const auto* token = tokens::find(tokens_, secret);
    if (!token) return std::unexpected(failed(request, "unknown token", now));
    if (token->expires && *token->expires <= now.wall)
        return std::unexpected(failed(request, fmt::format("token {} has expired", token->name), now));
    if (!token->networks.empty() &&
        (!request.client.address || !common::contains(token->networks, *request.client.address)))
        return std::unexpected(failed(request, fmt::format("token {} is not for this network", token->name), now));
    return token;
}

Denial Gate::failed(const web::Request& request, std::string_view why, smtp::Now now) {
    log_.warning("unknown[{}]: HTTP token authentication failed: {}", request.client.text(), why);
    if (can_be_locked_out(request.client) &&
        failed_tokens_.record(*request.client.address, failure_limits_, now.monotonic)) {
        metrics_.count(common::MetricId::http_lockouts);
        log_.warning("network {} is locked out: {} invalid tokens within {} min (http.failures_per_network); "
                     "\"postrider reload\" lifts it",
                     FailedTokens::network_of(*request.client.address).to_string(), failure_limits_.per_network,
                     std::chrono::ceil<std::chrono::minutes>(failure_limits_.window).count());
    }
    return {{401, "invalid-token", "The token is not valid here."}, true};
}

bool Gate::can_be_locked_out(const web::Client& client) const {
    return client.address && !client.address->is_loopback() && !common::contains(lockout_exempt_, *client.address);
}

} // namespace http
