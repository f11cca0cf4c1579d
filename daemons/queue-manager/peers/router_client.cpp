#include "daemons/queue-manager/peers/router_client.h"
#include "daemons/common/config/config.h"
#include "daemons/queue-manager/conversion/soft_bounce.h"
#include <algorithm>
#include <chrono>
#include <fmt/ranges.h>
#include <optional>
#include <string>
#include <utility>

namespace queue_manager {

namespace {

constexpr auto longest_name_logged = 300;

// The same text for routes with the same kind of authentication; "" the usual one.
std::string authentication_by(std::string_view rule, const config::Config& config) {
    const auto route = std::ranges::find(config.routes, rule, &decide::RouteRule::pattern);
    if (route == config.routes.end() || route->auth == decide::AuthRule{}) return {};
    return fmt::format("{}{} {}", route->auth.never ? "never " : "", route->auth.without_tls ? "without TLS" : "",
                       fmt::join(route->auth.mechanisms, ","));
}

} // namespace

RouterClient::RouterClient(const Dependencies& dependencies)
    : deps_(dependencies),
      service_(deps_.loop, {[this] { report_presence(decide::queue::Presence::up); },
                            [this] {
                                deps_.route_query.lost("router");
                                report_presence(decide::queue::Presence::down);
                            },
                            [this](proto::route::Message&& message) {
                                if (auto* answer = std::get_if<proto::route::Routed>(&message))
                                    answered(*answer);
                                else if (auto* changed = std::get_if<proto::route::StsChanged>(&message))
                                    domains_.changed(changed->sts);
                            }}) {}

void RouterClient::report_presence(decide::queue::Presence presence) {
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) {
        engine.service(decide::queue::Service::router, presence, now, out);
    });
}

void RouterClient::ask(const decide::queue::AskRoute& action) {
    const proto::route::Route question{0, std::string(action.domain), std::string(action.pool)};
    if (service_.ask(question) != ipc::SendResult::too_long) return;
    deps_.driver.later([this, domain = question.domain, pool = question.pool] {
        deps_.log.error("the name of a domain is too long for the router: {} …", domain.substr(0, longest_name_logged));
        const decide::queue::Reason reason{"5.1.2", "the name of the domain is too long", {}, {}};
        deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) {
            engine.routed({domain, pool, decide::RouteKind::permanent, {}, std::chrono::seconds(60), &reason}, now,
                          out);
        });
    });
}

void RouterClient::answered(const proto::route::Routed& said) {
    if (deps_.route_query.answered(said)) return;
    std::optional<proto::route::Routed> soft;
    if (deps_.config->bounce.soft_bounce) soft = softened(said);
    const auto& answer = soft ? *soft : said;
    const decide::queue::Reason reason{
        .status = answer.status, .text = answer.text, .at = answer.records_of, .by_srv = answer.by_srv};
    using decide::RouteKind;
    const bool reached = answer.kind == RouteKind::mx || answer.kind == RouteKind::configured;
    if (reached) links_[answer.link] = LinkHosts::of(answer);
    if (reached) domains_.routed(answer);
    const auto auth = authentication_by(answer.rule, *deps_.config);
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) {
        engine.routed({answer.domain, answer.asked_pool, answer.kind, answer.link,
                       std::chrono::seconds(answer.valid_seconds), reached ? nullptr : &reason, answer.connections,
                       answer.rule, auth, answer.secure},
                      now, out);
    });
}

void RouterClient::report_state(const decide::queue::LinkState& action) {
    // Not too long: its name is short.
    static_cast<void>(service_.ask(proto::route::LinkState{std::string(action.link), action.down}));
    deps_.log.warning("link={} {}", action.link,
                      action.down ? "is down: its mail moves to the route's next hop, if there is another"
                                  : "is up again");
}

void RouterClient::forget_link(std::string_view link) { links_.erase(std::string(link)); }

} // namespace queue_manager
