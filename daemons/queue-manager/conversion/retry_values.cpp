#include "daemons/queue-manager/conversion/retry_values.h"
#include <algorithm>
#include <cmath>

namespace queue_manager {

using decide::queue::RetryPolicy;

namespace {

constexpr double millionths = 1e6;

std::uint32_t wire(smtp::Duration d) { // a day fits many times
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(d).count(), 0, UINT32_MAX));
}

} // namespace

spool::RetryValues values_of(const RetryPolicy& policy) {
    spool::RetryValues out{.kind = policy.kind,
                           .base = wire(policy.base),
                           .factor = policy.factor,
                           .interval = wire(policy.interval),
                           .attempts = policy.attempts,
                           .jitter = static_cast<std::uint32_t>(std::lround(policy.jitter * millionths)),
                           .waits = {}};
    for (const auto wait : policy.waits) out.waits.push_back(wire(wait));
    return out;
}

RetryPolicy policy_of(std::string_view name, const spool::RetryValues& values) {
    using std::chrono::milliseconds;
    RetryPolicy out{.name = std::string(name),
                    .kind = values.kind,
                    .base = milliseconds(values.base),
                    .interval = milliseconds(values.interval),
                    .factor = values.factor,
                    .jitter = values.jitter / millionths,
                    .attempts = values.attempts};
    for (const auto wait : values.waits) out.waits.push_back(milliseconds(wait));
    return out;
}

std::optional<RetryPolicy> policy_named(std::string_view name, std::span<const RetryPolicy> all) {
    if (name == "exchange") return RetryPolicy{.name = "exchange"};
    const auto found = std::ranges::find(all, name, &RetryPolicy::name);
    if (found == all.end()) return std::nullopt;
    return *found;
}

} // namespace queue_manager
