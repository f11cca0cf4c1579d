#include "daemons/http/http.h"
#include "daemons/common/config/config.h"
#include "daemons/common/proto/secrets.h"
#include "daemons/http/browser/form.h"
#include "daemons/http/endpoints/description.h"
#include "daemons/http/endpoints/events.h"
#include "daemons/http/endpoints/health.h"
#include "daemons/http/endpoints/history.h"
#include "daemons/http/endpoints/messages.h"
#include "daemons/http/endpoints/operations.h"
#include "daemons/http/endpoints/queue_views.h"
#include "daemons/http/endpoints/submissions.h"
#include "daemons/http/endpoints/suppressions.h"
#include "daemons/http/endpoints/transfers.h"
#include "daemons/http/integration/hooks.h"
#include "daemons/http/integration/metrics.h"
#include "daemons/http/integration/outbox.h"
#include "daemons/http/overview/traffic.h"
#include "daemons/http/pages/frame/problem_page.h"
#include "daemons/http/pages/pages.h"
#include "daemons/http/requests/media_type.h"
#include "daemons/http/streams/content.h"
#include "daemons/http/streams/try.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace http {

using namespace std::chrono_literals;

namespace {

constexpr auto guess_delay = 1s;
constexpr std::uint64_t largest_json = 1 << 20;
constexpr std::uint64_t largest_state = 32 << 20; // of another node's message: its envelope, and what has become of it
constexpr std::size_t most_retired = 8;

// 503 is the server's answer when there is no memory for a body: nothing of the request has been read, and another
// node relies on that ("not-read").
std::string_view code_of(unsigned status) {
    if (status == 413 || status == 414) return "too-large";
    if (status == 503) return "not-read";
    return status == 429 ? "busy" : "invalid-request";
}

web::Certificate certificate_of(const proto::secrets::Api& secrets, const config::Tls& tls) {
    if (secrets.certificate.empty()) return {};
    const auto& own = secrets.certificate.front();
    return {own.chain, own.key, tls.minimum_version == config::TlsVersion::tls_1_3};
}

web::Response denial(const Problem& problem, const web::Request& request) {
    return pages::wants_page(request) ? pages::denial_response(problem, request) : response_to(problem);
}

} // namespace

spool::Result<std::unique_ptr<Http>> Http::create(common::DaemonContext& context, common::DaemonConfig daemon_config) {
    auto self = std::make_unique<Http>(context, daemon_config.config);
    self->reconfigure(std::move(daemon_config));
    return self;
}

Http::Http(common::DaemonContext& context, const config::Config& config)
    : context_(context), problems_(context.report_problem), memory_(config.http.memory),
      gate_(context.log, context.metrics, config::Http::directory(config.spool.directory),
            problems_.reporter("tokens")),
      queue_(context), hooks_(context, {"events", "The events process"}), metrics_(context), submissions_(context),
      journal_(context.loop, config.history.path(config.spool.directory)), later_(context.loop),
      feed_(context.loop, config.history.path(config.spool.directory)), services_{.loop = context.loop,
                                                                                  .log = context.log,
                                                                                  .queue = queue_,
                                                                                  .hooks = hooks_,
                                                                                  .metrics = metrics_,
                                                                                  .submissions = submissions_,
                                                                                  .journal = journal_,
                                                                                  .later = later_,
                                                                                  .feed = feed_},
      stop_check_(context.loop, [this] { check_stopped(); }), retirement_(context.loop, [this] { end_retired(); }) {
    add_health(router_, services_);
    add_queue_views(router_, services_);
    add_messages(router_, services_);
    add_content(router_, services_);
    add_submissions(router_, services_);
    add_transfers(router_, services_);
    add_operations(router_, services_);
    add_history(router_, services_);
    add_traffic(router_, services_);
    add_settings(router_, settings_);
    add_events(router_, services_);
    add_suppressions(router_, services_);
    add_try(router_, services_);
    add_outbox(router_, services_);
    add_hooks(router_, services_);
    add_metrics(router_, services_);
    add_description(router_);
    pages::add_pages(router_, context.loop, gate_);
}

void Http::reconfigure(common::DaemonConfig daemon_config) {
    const auto& config = daemon_config.config;
    HostNames names;
    for (const auto& name : config.http.names) names.names.push_back(smtp::lowered(name));
    names.names.push_back(smtp::lowered(config.mta.hostname));
    for (const auto& endpoint : config.http.listen) names.names.push_back(endpoint.address.to_string());
    gate_.configure(daemon_config.operators, std::move(names), config.http);
    memory_.set_limit(config.http.memory);
    services_.message_size = config.submit.message_size;
    services_.transfer_size = std::max(config.submit.message_size, config.smtpd.message_size) + largest_state;
    services_.recipients = config.submit.recipients;
    services_.followers = config.http.followers;
    services_.content = config.http.content;
    services_.has_metrics = config.metrics.enabled();
    const auto& secrets = daemon_config.secrets_as<proto::secrets::Api>();
    settings_ = {config.file, config::settings_in_force(daemon_config.text, config.file), secrets.shown};
    serve(std::move(daemon_config.listeners), config.http, certificate_of(secrets, config.tls));
}

// What is already served with this certificate continues unchanged.
void Http::serve(std::vector<common::InheritedListener> handed, const config::Http& settings,
                 const web::Certificate& certificate) {
    const bool renewed = std::exchange(certificate_, certificate) != certificate;
    auto former = std::exchange(servers_, {});
    std::string missing;
    const auto open = [&](std::string_view name, const std::string& address) {
        const bool encrypts = name == "api";
        std::unique_ptr<web::Server> replaced;
        if (auto old = former.extract(address)) {
            if (!encrypts || !renewed) return static_cast<void>(servers_.insert(std::move(old)));
            replaced = std::move(old.mapped());
        }
        const auto socket = std::ranges::find_if(
            handed, [&](const auto& each) { return each.name == name && (name == "http" || each.address == address); });
        std::string problem = "there is no socket";
        if (socket != handed.end()) {
            auto server =
                web::Server::open(context_.loop, std::move(socket->fd), *this, memory_,
                                  {.connections = settings.connections, .per_client = settings.connections_per_address},
                                  encrypts ? certificate : web::Certificate());
            if (server) {
                if (replaced) retire(std::move(replaced));
                return static_cast<void>(servers_[address] = *std::move(server));
            }
            problem = server.error().what;
        }
        context_.log.error("the API is not served at {}: {}{}", address, problem,
                           replaced ? ": it is served with the previous certificate" : "");
        if (replaced) return static_cast<void>(servers_[address] = std::move(replaced));
        missing += (missing.empty() ? "" : ", ") + address;
    };
    open("http", "run/http.sock");
    for (const auto& endpoint : settings.listen) open("api", endpoint.to_string());
    context_.loop.defer([this, missing] { // reported before we are ready, it would not be kept
        problems_.set("listen", missing.empty() ? "" : "http: nothing is served at " + missing + "; the log says why");
    });
}

// Serves the requests that it has, and takes no further connections. Certificates that change often end what is left of
// the oldest.
void Http::retire(std::unique_ptr<web::Server> server) {
    server->close();
    if (retired_.size() >= most_retired) retired_.erase(retired_.begin());
    retired_.push_back(std::move(server));
    retirement_.start(1s);
}

void Http::end_retired() {
    std::erase_if(retired_, [](const auto& server) { return server->open_requests() == 0; });
    if (!retired_.empty()) retirement_.start(1s);
}

std::expected<std::uint64_t, web::Rejection> Http::begin(const web::Request& request) {
    const auto denied = [&request](const Problem& problem, smtp::Duration delay = {}) {
        return std::unexpected(web::Rejection{denial(problem, request), delay});
    };
    if (const auto wrong = gate_.check_origin(request)) return denied(*wrong);
    const auto match = router_.find(request);
    if (!match && match.error().empty())
        return denied({404, "not-found", fmt::format("There is no \"{}\".", smtp::printable(request.path, 200))});
    if (!match) {
        auto response = denial({405, "method-not-allowed", "This path does not have this method."}, request);
        response.headers.emplace_back("Allow", fmt::format("{}", fmt::join(match.error(), ", ")));
        return std::unexpected(web::Rejection{std::move(response)});
    }
    const auto& route = *match->route;
    if (route.scope) {
        const auto caller = gate_.admit(request, route, common::Loop::now());
        if (!caller)
            return denied(caller.error().problem,
                          caller.error().delayed ? smtp::Duration(guess_delay) : smtp::Duration{});
    }
    const auto type = media_type(request.header("content-type"));
    if (!route.accepts.empty() && std::ranges::find(route.accepts, type) == route.accepts.end())
        return denied(
            {415, "unsupported-type", fmt::format("Content-Type: expected {}.", fmt::join(route.accepts, " or "))});
    return body_limit(route, request);
}

std::uint64_t Http::body_limit(const Route& route, const web::Request& request) const {
    if (route.accepts.empty()) return 0;
    if (route.page) return largest_form;
    if (route.path == "/v1/transfer") return services_.transfer_size;
    if (route.path != "/v1/messages") return largest_json;
    if (media_type(request.header("content-type")) == rfc822_type) return services_.message_size;
    return 2 * services_.message_size + largest_json; // escapes and Base64
}

// Identified again: the token may have been removed while the body came.
void Http::handle(std::shared_ptr<web::Exchange> exchange) {
    const auto match = router_.find(exchange->request());
    if (!match) return exchange->respond(reject(404, "There is no such path."));
    Caller caller;
    if (match->route->scope) {
        auto known = gate_.identify(exchange->request(), *match->route, common::Loop::now());
        if (!known) return exchange->respond(denial(known.error().problem, exchange->request()));
        caller = *std::move(known);
    }
    match->route->handle(std::make_shared<Call>(std::move(exchange), match->values, std::move(caller)));
}

web::Response Http::reject(unsigned status, std::string_view why) {
    return response_to({status, code_of(status), std::string(why) + ".", status == 503 || status == 429 ? 5U : 0U});
}

void Http::stop(smtp::Duration, std::function<void()> done) {
    stopped_ = std::move(done);
    for (auto& [address, server] : servers_) server->close();
    services_.stopping = true;
    queue_.cancel_unwanted();
    check_stopped();
}

void Http::check_stopped() {
    if (submissions_.open() > 0 || queue_.open() > 0 || hooks_.open() > 0 || metrics_.open() > 0 || journal_.open() > 0)
        return stop_check_.start(20ms);
    servers_.clear();
    retired_.clear();
    if (auto done = std::exchange(stopped_, nullptr)) done();
}

} // namespace http
