// What routes say of queueing, and what of it holds for a link that several of them lead to: of each number the
// strictest of those whose queues use it. What belongs to a queue (ladder, policy, authentication) stays with it.
#include "daemons/decide/queue/core.h"
#include <algorithm>

namespace decide::queue {

namespace {

constexpr std::size_t most_names = 0xffff; // of rules, and of ways to authenticate

smtp::Duration gap(std::uint32_t per_second, std::uint32_t per_hour) {
    smtp::Duration out{};
    if (per_second > 0) out = smtp::Duration(std::chrono::seconds(1)) / per_second;
    if (per_hour > 0) out = std::max(out, smtp::Duration(std::chrono::hours(1)) / per_hour);
    return out;
}

} // namespace

void Core::make_rules() {
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
        rule.by_backlog = route.by_backlog;
        rule.bounces_on_auth_failure = route.auth_failure == RouteSettings::AuthFailure::giving_back;
        rule.policy = route.retry_policy == policies_[1].name ? 0 : policy_of(route.retry_policy);
        longest_rung_ =
            std::max({longest_rung_, rule.ladder.retry_interval, rule.ladder.retry_interval_after});
    }
}

std::uint16_t Core::rule_of(std::string_view name) {
    const auto known = std::ranges::find(rules_, name, &Rule::name);
    if (known != rules_.end()) return static_cast<std::uint16_t>(known - rules_.begin());
    if (rules_.size() >= most_names) return 0;
    rules_.push_back({.name = std::string(name)});
    make_rules();
    return static_cast<std::uint16_t>(rules_.size() - 1);
}

std::uint16_t Core::auth_of(std::string_view words) {
    const auto known = std::ranges::find(auths_, words);
    if (known != auths_.end()) return static_cast<std::uint16_t>(known - auths_.begin());
    if (auths_.size() >= most_names) return 0;
    auths_.emplace_back(words);
    return static_cast<std::uint16_t>(auths_.size() - 1);
}

// ---- of a link ----

void Core::join_terms(const Queue& q) {
    auto& terms = links_[q.link].terms;
    const auto same = [&](const LinkTerms& t) { return t.rule == q.rule && t.connections == q.connections; };
    const auto known = std::ranges::find_if(terms, same);
    if (known != terms.end())
        ++known->queues;
    else
        terms.push_back({q.rule, q.connections, 1});
    settle_terms(q.link);
}

void Core::leave_terms(const Queue& q) {
    auto& terms = links_[q.link].terms;
    const auto same = [&](const LinkTerms& t) { return t.rule == q.rule && t.connections == q.connections; };
    const auto known = std::ranges::find_if(terms, same);
    if (known != terms.end() && --known->queues == 0) terms.erase(known);
}

void Core::settle_terms(Slot link) {
    Link& l = links_[link];
    if (l.kind == AgentKind::local) return;
    l.limit = 0;
    l.message_gap = l.connection_gap = {};
    l.limit_rule = l.rate_rule = 0;
    l.by_backlog = false;
    const std::uint32_t usual = l.mx ? settings_.connections_mx : settings_.connections_route;
    std::uint32_t strictest = 0;
    for (const LinkTerms& each : l.terms) {
        const Rule& rule = rules_[each.rule];
        const std::uint32_t its = each.connections > 0 ? each.connections : usual;
        if (strictest == 0 || its < strictest) {
            strictest = its;
            l.limit = each.connections;
            l.limit_rule = each.rule;
        }
        if (rule.message_gap > l.message_gap) {
            l.message_gap = rule.message_gap;
            l.rate_rule = each.rule;
        }
        l.by_backlog = l.by_backlog || rule.by_backlog;
        l.connection_gap = std::max(l.connection_gap, rule.connection_gap);
    }
    l.window.set_limit(limit_of(l));
}

// When the next one was due, if that is hardly over: timers come late, and what was lost by that is made up for. Longer
// idleness is no credit.
smtp::Monotonic Core::next_at(smtp::Monotonic due) const {
    constexpr auto late = std::chrono::milliseconds(100);
    return now_.monotonic - due <= late ? due : now_.monotonic;
}

bool Core::rate_open(Slot link) {
    const Link& l = links_[link];
    if (now_.monotonic >= l.next_message) return true;
    link_timers_.bring_forward(link, l.next_message);
    return false;
}

} // namespace decide::queue
