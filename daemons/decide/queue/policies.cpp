// Named retry policies: a message's own clock. Its tries follow one another by the policy's values, whatever fails; what
// a link, queue or route rests after may delay a try, which counts all the same: a dead host uses up the tries of all
// that wait for it by time. Our own doing (pause, rate, window, schedule) delays a try and counts nothing.
#include "daemons/decide/queue/core.h"
#include <algorithm>

namespace decide::queue {

namespace {
constexpr std::size_t most_policies = 0xffff;
constexpr std::uint16_t unnamed = 0, named_exchange = 1;
// What a rest delays at once is counted one after the other, so that no step writes of a hundred thousand.
constexpr auto between_counts = std::chrono::microseconds(100);
constexpr auto shortest_wait = std::chrono::milliseconds(1);
} // namespace

std::uint16_t Core::policy_index(const RetryPolicy& policy) {
    const auto known = std::ranges::find(policies_.begin() + named_exchange, policies_.end(), policy);
    if (known != policies_.end()) return static_cast<std::uint16_t>(known - policies_.begin());
    if (policies_.size() >= most_policies) return unnamed;
    policies_.push_back(policy);
    longest_rung_ = std::max(longest_rung_, wait_of(policy, settings_, std::max(policy.most(), 1u)));
    return static_cast<std::uint16_t>(policies_.size() - 1);
}

std::uint16_t Core::policy_of(std::string_view name) {
    if (name.empty()) return unnamed;
    if (name == policies_[named_exchange].name) return named_exchange;
    const auto known = std::ranges::find(settings_.policies, name, &RetryPolicy::name);
    return known == settings_.policies.end() ? unnamed : policy_index(*known);
}

const RetryPolicy& Core::policy(Slot message, Slot queue) {
    Message& m = messages_[message];
    const std::uint16_t routes = rules_[queues_[queue].rule].policy;
    if (m.policy == unnamed && routes != unnamed) {
        m.policy = routes;
        m.policy_unrecorded = true;
        if (!m.young) write_policy(message);
    }
    return policies_[m.policy];
}

// What is done with before it has to wait needs no record.
void Core::write_policy(Slot message) {
    Message& m = messages_[message];
    if (!m.policy_unrecorded) return;
    m.policy_unrecorded = false;
    emit(RecordPolicy{spool::QueueId{m.id}, &policies_[m.policy]});
}

smtp::Monotonic Core::policy_due(Slot message, Slot queue, std::uint32_t failures) {
    const RetryPolicy& its = policy(message, queue);
    const Ladder& rungs = ladder(queues_[queue]);
    const double jitter = its.kind == RetryPolicy::Kind::exchange ? rungs.jitter : its.jitter;
    return now_.monotonic +
           std::max<smtp::Duration>(jittered(jitter, wait_of(its, rungs, failures), random_), shortest_wait);
}

bool Core::exhausted(Slot message, std::uint32_t failures) const {
    const RetryPolicy& its = policies_[messages_[message].policy];
    return !settings_.soft_bounce && its.counts() && failures >= its.most();
}

const Reason* Core::policy_backoff_reason(Slot queue) const {
    const Queue& q = queues_[queue];
    if (paused_ || q.is_paused()) return nullptr;
    if (q.route == RouteState::failed && now_.monotonic < q.route_until) return &q.route_reason;
    if (q.link == none || links_[q.link].paused) return nullptr;
    const auto rests = [&](const HealthState& h) {
        return h.health != Health::ready && !h.probing && now_.monotonic < h.due;
    };
    if (rests(q.health)) return &q.health.last_error;
    return rests(links_[q.link].health) ? &links_[q.link].health.last_error : nullptr;
}

void Core::count_try(Slot slot, const Reason& reason, Try how) {
    const Delivery like = deliveries_[slot];
    std::vector<Entry> list = entries(slot);
    std::uint16_t most = 0;
    for (Entry& each : list) {
        if (each.failures < 0xffff) ++each.failures;
        most = std::max(most, each.failures);
    }
    if (how == Try::delayed) log_suspended(slot, reason); // the log has a line of every try
    Slot spare = slot;
    defer_delivery(like, spare, list, policy_due(like.message, like.queue, most), reason, how);
    if (spare != none) free_delivery(spare);
    if (const Slot extra = messages_[like.message].extras; extra != none && !extras_[extra].reports.empty())
        plan_reports(like.message);
}

void Core::count_delayed_tries(Slot queue) {
    const Queue& q = queues_[queue];
    if (q.lanes.own_clock == 0 || policy_backoff_reason(queue) == nullptr) return;
    std::vector<Slot> all;
    for (Slot slot = flows_.first(q.lanes); slot != none && all.size() < q.lanes.own_clock;
         slot = flows_.next(q.lanes, slot))
        if (deliveries_[slot].own_clock) all.push_back(slot);
    auto due = now_.monotonic + between_counts;
    for (const Slot slot : all) {
        take_out(slot);
        deliveries_[slot].due = due;
        due += between_counts;
        place(slot, End::back);
    }
}

void Core::count_delayed_tries_of_link(Slot link) {
    for (const Slot queue : ring_of(link)) count_delayed_tries(queue);
}

void Core::apply_route_policy(Slot queue) {
    const Queue& q = queues_[queue];
    if (rules_[q.rule].policy == unnamed || q.lanes.count == q.lanes.own_clock) return;
    std::vector<Slot> all;
    for (Slot slot = flows_.first(q.lanes); slot != none; slot = flows_.next(q.lanes, slot))
        if (!deliveries_[slot].own_clock) all.push_back(slot);
    for (const Slot slot : all) {
        if (!has_own_clock(deliveries_[slot].message, queue)) continue;
        deliveries_[slot].own_clock = true;
        ++queues_[queue].lanes.own_clock;
    }
}

} // namespace decide::queue
