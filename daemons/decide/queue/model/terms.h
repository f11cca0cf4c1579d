// The queueing settings of routes and messages, by number: the rules of routes (retry schedule, rates, policy), ways to
// authenticate, and the named retry policies. With a policy a message has a clock of its own: its tries follow one
// another by the policy's values, whatever fails.
#pragma once
#include "daemons/decide/queue/model/names.h"
#include "daemons/decide/queue/model/step.h"
#include <deque>
#include <string_view>
#include <vector>

namespace decide::queue {

class Terms {
public:
    static constexpr std::uint16_t unnamed_policy = 0;

    Terms(const Settings& settings, Step& step);

    // Settings have changed: the rules are resolved again.
    void configure();

    // For the route with that pattern; 0: no rule.
    std::uint16_t rule_of(std::string_view name);
    const Rule& rule(std::uint16_t number) const { return rules_[number]; }
    const Ladder& ladder(const Queue& queue) const { return rules_[queue.rule].ladder; }
    std::uint16_t auth_of(std::string_view words) { return auths_.number_of(words); }

    std::uint16_t policy_index(const RetryPolicy& policy);
    std::uint16_t policy_of(std::string_view name);
    const RetryPolicy& policy_at(std::uint16_t number) const { return policies_[number]; }
    // The message's own; else its route's, which it keeps from now on.
    const RetryPolicy& policy(Message& message, const Queue& queue);
    bool has_own_clock(Message& message, const Queue& queue) {
        return policy(message, queue).kind != RetryPolicy::Kind::exchange;
    }
    void write_policy(Message& message);
    // The next try after this number of failures.
    smtp::Monotonic policy_due(Message& message, const Queue& queue, std::uint32_t failures);
    bool exhausted(const Message& message, std::uint32_t failures) const;

    // A clock that was set back must not postpone planned tries: no retry schedule waits longer than its longest step.
    smtp::Duration longest_wait() const;

private:
    const Settings& settings_;
    Step& step_;
    std::vector<Rule> rules_; // the first: no rule
    // By value, never changed: messages have indexes into it. The first: none is named; the second: "exchange" is.
    std::deque<RetryPolicy> policies_;
    NumberedNames auths_;
    smtp::Duration longest_rung_{}; // of any route's retry schedule or policy
};

} // namespace decide::queue
