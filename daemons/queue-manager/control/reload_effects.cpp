#include "daemons/queue-manager/control/reload_effects.h"
#include "daemons/common/config/config.h"
#include "daemons/common/proto/route.h"
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/queue/ladder.h"
#include "daemons/decide/routing/route_name.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <tuple>

namespace queue_manager {

namespace {

using decide::NextHop;
using decide::RouteRule;
using decide::queue::QueueInfo;
using What = ReloadEffect::What;

// One configuration, as it routes mail.
struct Side {
    explicit Side(const config::Config& config) : config(config), routes(config.routes) {}
    // By the route of that name, if an operator or a table named it.
    const RouteRule* rule(std::string_view domain) const {
        if (!domain.starts_with(proto::route::via)) return routes.find(domain);
        const auto name = domain.substr(proto::route::via.size());
        const auto by = decide::RouteName::parse(name);
        return by ? routes.named(by->route) : routes.named(name);
    }
    const config::Config& config;
    decide::RouteTable routes;
};

std::string hops_text(const RouteRule* rule) {
    const bool own = !rule || std::ranges::all_of(rule->next_hops, [](const auto& equals) {
        return std::ranges::all_of(equals, [](const NextHop& hop) { return hop == NextHop{}; });
    });
    if (own) return "its own MX hosts";
    std::vector<std::string> out;
    for (const auto& equals : rule->next_hops)
        for (const auto& hop : equals) out.push_back(hop.to_string());
    return fmt::format("{}", fmt::join(out, ", "));
}

bool gives_back(const RouteRule* rule) {
    return rule && rule->queueing.auth_failure == decide::queue::RouteSettings::AuthFailure::giving_back;
}

// Whether a limit becomes stricter; 0: no limit.
std::optional<std::string> stricter(std::string_view name, std::uint64_t before, std::uint64_t then) {
    if (then == 0 || (before != 0 && then >= before)) return {};
    return fmt::format("{} {} → {}", name, before == 0 ? "without limit" : std::to_string(before), then);
}

std::string limits(const Side& now, const Side& then, const RouteRule* before, const RouteRule* after, bool by_mx) {
    static const RouteRule none;
    const auto& a = before ? *before : none;
    const auto& b = after ? *after : none;
    const auto usual = [&](const config::Config& config) {
        return by_mx ? config.queue.connections_mx : config.queue.connections_route;
    };
    std::vector<std::string> out;
    const auto add = [&](std::optional<std::string> text) {
        if (text) out.push_back(*std::move(text));
    };
    add(stricter("connections", a.connections ? a.connections : usual(now.config),
                 b.connections ? b.connections : usual(then.config)));
    add(stricter("messages_per_second", a.queueing.messages_per_second, b.queueing.messages_per_second));
    add(stricter("messages_per_hour", a.queueing.messages_per_hour, b.queueing.messages_per_hour));
    add(stricter("connections_per_second", a.queueing.connections_per_second, b.queueing.connections_per_second));
    if (then.config.fleet.enabled() && b.queueing.share_rates &&
        !(now.config.fleet.enabled() && a.queueing.share_rates) &&
        (b.queueing.messages_per_second > 0 || b.queueing.messages_per_hour > 0 ||
         b.queueing.connections_per_second > 0))
        add("its rates are shared by all nodes");
    return fmt::format("{}", fmt::join(out, ", "));
}

std::string schedule(const Side& now, const Side& then, const RouteRule* before, const RouteRule* after) {
    const decide::queue::RouteSettings none;
    const auto& a = before ? before->queueing : none;
    const auto& b = after ? after->queueing : none;
    if (a.retry_policy != b.retry_policy)
        return fmt::format("retry_policy {} → {}, for mail without one of its own",
                           a.retry_policy.empty() ? "exchange" : a.retry_policy,
                           b.retry_policy.empty() ? "exchange" : b.retry_policy);
    const auto rungs = [](const decide::queue::Ladder& ladder) {
        return std::tuple(ladder.glitch_interval, ladder.glitch_count, ladder.retry_interval, ladder.retry_count,
                          ladder.retry_interval_after);
    };
    return rungs(ladder_of(now.config.queue, a)) == rungs(ladder_of(then.config.queue, b))
               ? ""
               : "the retry schedule of its link and queue";
}

std::string_view word_of(decide::TlsLevel level) {
    constexpr std::string_view words[] = {"", "none", "may", "dane", "sts", "encrypt", "verify", "dane-only"};
    return words[static_cast<std::size_t>(level)];
}

class Comparison {
public:
    Comparison(const config::Config& in_force, const config::Config& to_be) : now_(in_force), then_(to_be) {}

    void add(const QueueInfo& queue, std::vector<ReloadEffect>& out) const {
        if (queue.deliveries == 0 || queue.name.starts_with(decide::queue::store_prefix)) return;
        const auto domain = decide::link_to(queue.name);
        const auto *before = now_.rule(domain), *after = then_.rule(domain);
        const auto say = [&](What what, std::string how, std::uint32_t deliveries) {
            if (!how.empty() && deliveries > 0)
                out.push_back({what, queue.name, queue.link, deliveries, std::move(how)});
        };
        if (!gives_back(before) && gives_back(after) && queue.of_link && queue.last_error.stage == smtp::Stage::auth)
            say(What::returned, "auth_failure is \"return\", and its link's credentials are refused", queue.due);
        if (hops(before) != hops(after))
            say(What::rerouted, fmt::format("from {} to {}", hops_text(before), hops_text(after)), queue.deliveries);
        say(What::limited, limits(now_, then_, before, after, by_mx(after)), queue.deliveries);
        say(What::rescheduled, schedule(now_, then_, before, after), queue.deliveries);
        const auto level = [&](const Side& side) { return side.routes.tls_level(domain, side.config.smtp_client.tls); };
        if (is_mandatory(level(then_)) && level(then_) > level(now_))
            say(What::secured, fmt::format("tls {} → {}", word_of(level(now_)), word_of(level(then_))),
                queue.deliveries);
        const auto pool_before = before ? before->pool : "", pool_after = after ? after->pool : "";
        if (pool_before != pool_after && queue.name == domain) // else its mail names one
            say(What::sourced,
                fmt::format("pool {} → {}", pool_before.empty() ? "none" : pool_before,
                            pool_after.empty() ? "none" : pool_after),
                queue.deliveries);
    }

private:
    struct Hops {
        std::vector<std::vector<NextHop>> next;
        std::vector<NextHop> fallback;
        bool wrapped = false;
        bool operator==(const Hops&) const = default;
    };
    // No route and "mx" are the same.
    static Hops hops(const RouteRule* rule) {
        if (!rule) return {{{NextHop{}}}, {}, false};
        return {rule->next_hops, rule->fallback, rule->tls_wrap};
    }
    static bool by_mx(const RouteRule* rule) {
        return !rule || rule->next_hops.empty() || rule->next_hops.front().front().kind != NextHop::Kind::host;
    }

    Side now_, then_;
};

} // namespace

std::string_view word_of(ReloadEffect::What what) {
    switch (what) {
    case What::returned: return "returned";
    case What::rerouted: return "rerouted";
    case What::limited: return "limited";
    case What::rescheduled: return "rescheduled";
    case What::secured: return "stricter_tls";
    case What::sourced: return "other_source";
    }
    return "";
}

std::vector<ReloadEffect> reload_effects(const config::Config& in_force, const config::Config& to_be,
                                         std::span<const QueueInfo> queues) {
    const Comparison comparison(in_force, to_be);
    std::vector<ReloadEffect> out;
    for (const auto& queue : queues) comparison.add(queue, out);
    return out;
}

} // namespace queue_manager
