#include "daemons/http/gate.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/common/tokens/token_file.h"
#include "daemons/http/browser/cookie.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace http {

using namespace std::chrono_literals;
using tokens::Scope;
using tokens::Token;

namespace {

Denial locked_out(smtp::Duration left) {
    const auto seconds = static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(left).count());
    return {{429, "locked-out",
             "Too many invalid tokens came from this network: no token is accepted from it for a while.", seconds}};
}

constexpr std::string_view page_field = "x-postrider-page"; // of requests to the API that pages make

Denial no_session() { return {{401, "no-session", "Log in first: the session has ended, or its token is gone."}}; }

Caller caller_of_user(const common::Credentials& user) {
    Caller caller{.principal = {user.uid, {}}, .submitter = fmt::format("uid:{}", user.uid)};
    for (auto each : {Scope::read, Scope::read_content, Scope::submit, Scope::operate, Scope::remove, Scope::suppress,
                      Scope::admin})
        caller.scopes.add(each);
    return caller;
}

Caller caller_with(const Token& token) {
    return {.principal = {0, "token " + token.name},
            .scopes = token.scopes,
            .submitter = token.submitter,
            .sender_domains = token.sender_domains,
            .rate = token.rate};
}

std::string random_text() { return tokens::new_secret().substr(tokens::secret_prefix.size()); }

// "": it may be used now, from there.
std::string why_not_valid(const Token& token, const web::Client& client, smtp::Now now) {
    if (token.expires && *token.expires <= now.wall) return fmt::format("token {} has expired", token.name);
    if (!token.networks.empty() && (!client.address || !common::contains(token.networks, *client.address)))
        return fmt::format("token {} is not for this network", token.name);
    return {};
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
std::optional<Denial> Gate::lockout(const web::Request& request, smtp::Now now) const {
    if (!can_be_locked_out(request.client)) return {};
    const auto left = failed_tokens_.locked_for(*request.client.address, failure_limits_, now.monotonic);
    if (!left) return {};
    return locked_out(*left);
}

std::expected<Caller, Denial> Gate::admit(const web::Request& request, const Route& route, smtp::Now now) {
    if (request.has_header("authorization"))
        if (auto denial = lockout(request, now)) return std::unexpected(*std::move(denial));
    auto caller = identify(request, route, now);
    if (!caller || rates_.take(caller->principal.name, caller->rate, 1s, now.monotonic)) return caller;
    return std::unexpected(Denial{
        {429, "too-many-requests", fmt::format("This token may send {} requests per second.", caller->rate), 1}});
}

std::expected<Caller, Denial> Gate::identify(const web::Request& request, const Route& route, smtp::Now now) {
    refresh(now);
    auto caller = known_caller(request, route, now);
    if (!caller) return caller;
    if (auto refused = route.refuses(caller->scopes)) return std::unexpected(Denial{*std::move(refused)});
    return caller;
}

// Pages know only sessions. The API knows a session only where a page of this server asks: no other site's page can add
// that field.
std::expected<Caller, Denial> Gate::known_caller(const web::Request& request, const Route& route, smtp::Now now) {
    if (route.page) return caller_of_session(request, now);
    if (request.has_header("authorization")) return caller_of_token(request, now);
    if (request.has_header(page_field)) {
        const auto site = request.header("sec-fetch-site");
        if (!site.empty() && site != "same-origin") return std::unexpected(no_session());
        return caller_of_session(request, now);
    }
    const auto& user = request.client.user;
    if (!user || !operators_.includes(*user)) return std::unexpected(unauthorized());
    return caller_of_user(*user);
}

std::expected<Caller, Denial> Gate::caller_of_session(const web::Request& request, smtp::Now now) {
    const auto* session = sessions_.find(session_secret(request), now.monotonic);
    if (!session) return std::unexpected(no_session());
    std::optional<Caller> caller;
    if (const auto* id = std::get_if<Sessions::UserId>(&session->owner)) {
        const auto& user = request.client.user;
        if (user && user->uid == id->number && operators_.includes(*user)) caller = caller_of_user(*user);
    } else {
        const auto token = std::ranges::find(tokens_, std::get<Sessions::TokenHash>(session->owner).text, &Token::hash);
        if (token != tokens_.end() && why_not_valid(*token, request.client, now).empty()) caller = caller_with(*token);
    }
    if (!caller) return std::unexpected(no_session());
    caller->form_token = session->form_token;
    return *std::move(caller);
}

std::expected<Caller, Denial> Gate::caller_of_token(const web::Request& request, smtp::Now now) {
    const auto field = request.header("authorization");
    const auto space = std::min(field.find(' '), field.size());
    if (!smtp::same_ignoring_case(field.substr(0, space), "Bearer"))
        return std::unexpected(failed(request, "not a bearer token", now));
    const auto token = check_token(request, field.substr(std::min(space + 1, field.size())), now);
    if (!token) return std::unexpected(token.error());
    return caller_with(**token);
}

std::optional<std::string> Gate::user_of(const web::Request& request) const {
    const auto& user = request.client.user;
    if (!user || !operators_.includes(*user)) return {};
    return fmt::format("uid {}", user->uid);
}

std::expected<std::string, Denial> Gate::log_in(const web::Request& request, std::string_view secret, smtp::Now now) {
    refresh(now);
    if (auto denial = lockout(request, now)) return std::unexpected(*std::move(denial));
    std::optional<Sessions::Owner> owner;
    if (secret.empty() && user_of(request)) {
        owner = Sessions::UserId{request.client.user->uid};
    } else {
        const auto token = check_token(request, secret, now);
        if (!token) return std::unexpected(token.error());
        owner = Sessions::TokenHash{(*token)->hash};
    }
    auto cookie = random_text();
    sessions_.begin(cookie, *std::move(owner), random_text(), now.monotonic);
    return cookie;
}

void Gate::log_out(const web::Request& request) { sessions_.end(session_secret(request)); }

std::expected<const Token*, Denial> Gate::check_token(const web::Request& request, std::string_view secret,
                                                      smtp::Now now) {
    if (secret.size() > tokens::longest_secret) return std::unexpected(failed(request, "unknown token", now));
    const auto* token = tokens::find(tokens_, secret);
    if (!token) return std::unexpected(failed(request, "unknown token", now));
    if (const auto why = why_not_valid(*token, request.client, now); !why.empty())
        return std::unexpected(failed(request, why, now));
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
