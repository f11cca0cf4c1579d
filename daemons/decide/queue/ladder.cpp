#include "daemons/decide/queue/ladder.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <tuple>

namespace decide::queue {

smtp::Duration rung(const Ladder& settings, std::uint32_t failures) {
    if (failures < settings.glitch_count) return settings.glitch_interval;
    if (failures < settings.glitch_count + settings.retry_count) return settings.retry_interval;
    return settings.retry_interval_after;
}

Ladder ladder_of(const Settings& settings, const RouteSettings& route) {
    Ladder out = settings;
    const auto instead = [](auto& value, const auto& given) {
        if (given != std::remove_cvref_t<decltype(given)>{}) value = given;
    };
    instead(out.glitch_interval, route.glitch_interval);
    instead(out.glitch_count, route.glitch_count);
    instead(out.retry_interval, route.retry_interval);
    instead(out.retry_count, route.retry_count);
    instead(out.retry_interval_after, route.retry_interval_after);
    instead(out.failures_before_problem, route.failures_before_problem);
    return out;
}

smtp::Duration wait_of(const RetryPolicy& policy, const Ladder& ladder, std::uint32_t failures) {
    constexpr auto longest = smtp::Duration(std::chrono::hours(24));
    switch (policy.kind) {
    case RetryPolicy::Kind::exchange: break;
    case RetryPolicy::Kind::exponential: {
        smtp::Duration wait = policy.base;
        for (std::uint32_t n = 1; n < failures && wait < longest; ++n) wait *= policy.factor;
        return std::min(wait, std::max(policy.base, longest));
    }
    case RetryPolicy::Kind::fixed: return policy.interval;
    case RetryPolicy::Kind::steps:
        if (policy.waits.empty()) break;
        return policy.waits[std::min<std::size_t>(std::max(failures, 1u) - 1, policy.waits.size() - 1)];
    }
    return rung(ladder, failures);
}

namespace {

std::string text_of(smtp::Duration d) {
    using namespace std::chrono;
    if (d % hours(1) == smtp::Duration{} && d >= hours(1)) return fmt::format("{}h", d / hours(1));
    if (d % minutes(1) == smtp::Duration{} && d >= minutes(1)) return fmt::format("{}m", d / minutes(1));
    if (d % seconds(1) == smtp::Duration{}) return fmt::format("{}s", d / seconds(1));
    return fmt::format("{}ms", d / milliseconds(1));
}

} // namespace

bool operator==(const RetryPolicy& a, const RetryPolicy& b) {
    const auto all = [](const RetryPolicy& p) {
        return std::tie(p.name, p.kind, p.base, p.interval, p.factor, p.jitter, p.attempts, p.waits);
    };
    return all(a) == all(b);
}

std::string text_of(const RetryPolicy& policy) {
    const auto tries = policy.counts() ? fmt::format("{} tries", policy.most()) : std::string("until it expires");
    switch (policy.kind) {
    case RetryPolicy::Kind::exchange: break;
    case RetryPolicy::Kind::exponential:
        return fmt::format("exponential: {}, each wait {} times the previous; {}", text_of(policy.base), policy.factor,
                           tries);
    case RetryPolicy::Kind::fixed: return fmt::format("fixed: every {}; {}", text_of(policy.interval), tries);
    case RetryPolicy::Kind::steps: {
        std::string waits;
        for (const auto each : policy.waits) waits += (waits.empty() ? "" : ", ") + text_of(each);
        return fmt::format("steps: {}; {}", waits, tries);
    }
    }
    return "the retry schedule of the queue";
}

smtp::Duration jittered(double jitter, smtp::Duration wait, Random& random) {
    if (jitter <= 0) return wait;
    const double extra = static_cast<double>(wait.count()) * jitter * random.fraction();
    return wait + smtp::Duration(std::llround(extra));
}

smtp::Duration doubling(smtp::Duration first, smtp::Duration most, std::uint32_t failures) {
    smtp::Duration wait = first;
    for (std::uint32_t n = 1; n < failures && wait < most; ++n) wait *= 2;
    return std::min(wait, std::max(first, most));
}

} // namespace decide::queue
