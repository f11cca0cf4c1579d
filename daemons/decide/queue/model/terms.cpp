#include "daemons/decide/queue/model/terms.h"
#include <algorithm>

namespace decide::queue {

namespace {

constexpr std::size_t most_rules = 0xffff, most_policies = 0xffff;
constexpr std::uint16_t unnamed = Terms::unnamed_policy, named_exchange = 1;
constexpr auto shortest_wait = std::chrono::milliseconds(1);

smtp::Duration gap(std::uint32_t per_second, std::uint32_t per_hour) {
    smtp::Duration out{};
    if (per_second > 0) out = smtp::Duration(std::chrono::seconds(1)) / per_second;
    if (per_hour > 0) out = std::max(out, smtp::Duration(std::chrono::hours(1)) / per_hour);
    return out;
}

} // namespace

Terms::Terms(const Settings& settings, Step& step) : settings_(settings), step_(step) {
    policies_ = {RetryPolicy{}, RetryPolicy{.name = "exchange"}};
    configure();
}

void Terms::configure() {
    longest_rung_ = {};
    for (const RetryPolicy& each : policies_)
        longest_rung_ = std::max(longest_rung_, wait_of(each, settings_, std::max(each.most(), 1u)));
    if (rules_.empty()) rules_.emplace_back();
    for (Rule& rule : rules_) {
        const auto its = settings_.routes.find(rule.name);
        const RouteSettings route = its == settings_.routes.end() ? RouteSettings{} : its->second;
        rule.ladder = ladder_of(settings_, route);
        rule.message_gap = gap(route.messages_per_second, route.messages_per_hour);
        rule.connection_gap = gap(route.connections_per_second, 0);
        rule.share_rates = settings_.in_fleet && route.share_rates;
        rule.by_backlog = route.by_backlog;
        rule.bounces_on_auth_failure = route.auth_failure == RouteSettings::AuthFailure::giving_back;
        rule.policy = route.retry_policy == policies_[named_exchange].name ? 0 : policy_of(route.retry_policy);
        longest_rung_ = std::max({longest_rung_, rule.ladder.retry_interval, rule.ladder.retry_interval_after});
    }
}

std::uint16_t Terms::rule_of(std::string_view name) {
    const auto known = std::ranges::find(rules_, name, &Rule::name);
    if (known != rules_.end()) return static_cast<std::uint16_t>(known - rules_.begin());
    if (rules_.size() >= most_rules) return 0;
    rules_.push_back({.name = std::string(name)});
    configure();
    return static_cast<std::uint16_t>(rules_.size() - 1);
}

std::uint16_t Terms::policy_index(const RetryPolicy& policy) {
    const auto known = std::ranges::find(policies_.begin() + named_exchange, policies_.end(), policy);
    if (known != policies_.end()) return static_cast<std::uint16_t>(known - policies_.begin());
    if (policies_.size() >= most_policies) return unnamed;
    policies_.push_back(policy);
    longest_rung_ = std::max(longest_rung_, wait_of(policy, settings_, std::max(policy.most(), 1u)));
    return static_cast<std::uint16_t>(policies_.size() - 1);
}

std::uint16_t Terms::policy_of(std::string_view name) {
    if (name.empty()) return unnamed;
    if (name == policies_[named_exchange].name) return named_exchange;
    const auto known = std::ranges::find(settings_.policies, name, &RetryPolicy::name);
    return known == settings_.policies.end() ? unnamed : policy_index(*known);
}

const RetryPolicy& Terms::policy(Message& m, const Queue& queue) {
    const std::uint16_t routes = rules_[queue.rule].policy;
    if (m.policy == unnamed && routes != unnamed) {
        m.policy = routes;
        m.policy_unrecorded = true;
        if (!m.young) write_policy(m);
    }
    return policies_[m.policy];
}

// What is done with before it has to wait needs no record.
void Terms::write_policy(Message& m) {
    if (!m.policy_unrecorded) return;
    m.policy_unrecorded = false;
    step_.emit(RecordPolicy{spool::QueueId{m.id}, &policies_[m.policy]});
}

smtp::Monotonic Terms::policy_due(Message& message, const Queue& queue, std::uint32_t failures) {
    const RetryPolicy& its = policy(message, queue);
    const Ladder& rungs = ladder(queue);
    const double jitter = its.kind == RetryPolicy::Kind::exchange ? rungs.jitter : its.jitter;
    return step_.now() +
           std::max<smtp::Duration>(jittered(jitter, wait_of(its, rungs, failures), step_.random()), shortest_wait);
}

bool Terms::exhausted(const Message& message, std::uint32_t failures) const {
    const RetryPolicy& its = policies_[message.policy];
    return !settings_.soft_bounce && its.counts() && failures >= its.most();
}

smtp::Duration Terms::longest_wait() const {
    return std::chrono::duration_cast<smtp::Duration>(
        std::max({settings_.retry_interval_after, settings_.retry_interval, longest_rung_}) * (1.0 + settings_.jitter));
}

} // namespace decide::queue
