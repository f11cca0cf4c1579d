// Messages with retry policies of their own: tried at their policy's times, or said to be delayed by what its link or
// queue rests after. Dice of its own: the worlds are otherwise what they were.
#include "tests/sim/world.h"
#include <algorithm>

namespace sim {

using namespace std::chrono_literals;

void World::make_policies() {
    if (calm_ || life_ == Life::month || !policy_dice_.chance(35)) return;
    using Kind = q::RetryPolicy::Kind;
    const double jitter = policy_dice_.chance(50) ? 0 : 0.2;
    const auto attempts = [&](std::int64_t most) { return static_cast<std::uint32_t>(policy_dice_.between(2, most)); };
    q::RetryPolicy quick{.name = "quick", .kind = Kind::exponential, .jitter = jitter};
    quick.base = std::chrono::seconds(policy_dice_.between(1, 10));
    quick.factor = static_cast<std::uint32_t>(policy_dice_.between(1, 2));
    quick.attempts = attempts(8);
    q::RetryPolicy steady{.name = "steady", .kind = Kind::fixed, .jitter = jitter};
    steady.interval = std::chrono::seconds(policy_dice_.between(30, 1200));
    steady.attempts = policy_dice_.chance(50) ? 0 : attempts(20);
    q::RetryPolicy stairs{.name = "stairs", .kind = Kind::steps, .jitter = jitter};
    for (auto n = policy_dice_.between(1, 6), wait = std::int64_t{5}; n > 0; --n, wait *= 3)
        stairs.waits.emplace_back(std::chrono::seconds(wait));
    settings_.policies = {quick, steady, stairs};
    for (auto& [name, route] : settings_.routes)
        if (policy_dice_.chance(30)) route.retry_policy = settings_.policies[policy_dice_.below(3)].name;
}

void World::name_policy(Message& m) {
    if (settings_.policies.empty() || !policy_dice_.chance(50)) return;
    const q::RetryPolicy named = policy_dice_.chance(10)
                                     ? q::RetryPolicy{.name = "exchange"}
                                     : settings_.policies[policy_dice_.below(settings_.policies.size())];
    m.policy = named.name;
    m.by_name = named;
}

// It is written as the message begins to wait, which may be said a little later in the same breath.
const q::RetryPolicy& World::policy_of(const Message& m) const {
    static const q::RetryPolicy none;
    for (const q::Action& each : out_.list)
        if (const auto* record = std::get_if<q::RecordPolicy>(&each); record && record->id.value == m.id)
            return *record->policy;
    return m.recorded ? *m.recorded : none;
}

void World::does(const q::RecordPolicy& a) {
    Message* m = message(a.id);
    if (!m || m->gone) return wrong("a policy recorded of a message that is gone");
    if (m->recorded) wrong("a policy recorded twice");
    if (m->by_name && !(*a.policy == *m->by_name)) wrong("another policy is recorded than it came with");
    const auto of_route = [&](const Recipient& r) { // as it is, or as it was when the message came
        const QueueBook& book = queues_[queue_of(*m, r)];
        return settings_of(book.rule).retry_policy == a.policy->name ||
               (m->accepted <= book.rule_since && settings_of(book.rule_before).retry_policy == a.policy->name);
    };
    if (!m->by_name && std::ranges::none_of(m->recipients, of_route)) wrong("a policy is recorded that nobody named");
    m->recorded = *a.policy;
}

bool World::out_of_tries(const Message& m, const Recipient& r) const {
    const q::RetryPolicy& policy = policy_of(m);
    return policy.counts() && r.failures + 1 >= policy.most();
}

// A try that counts though nobody made it: only by a named policy, only for what its next hop rests after, and said so.
void World::check_delayed(const q::RecordDeferral& a, q::RecipientNumber number) {
    const Message& m = *message(a.id);
    const Recipient& r = m.recipients[number];
    if (policy_of(m).kind == q::RetryPolicy::Kind::exchange) return wrong("a failure is counted of what was not tried");
    if (r.in_flight) wrong("a try is counted of what is in flight");
    const std::string queue = queue_of(m, r);
    const QueueBook& book = queues_[queue];
    bool rests = !book.announced || time_ < std::max(book.not_before, book.route_until),
         paused = paused_ || paused_queues_.contains(queue);
    if (!r.local) {
        const Domain& d = domain_of(r.domain);
        const std::string& pool = pool_of(m, d);
        const Host& first = hosts_[host_at(d.host, pool)];
        // Without a route it waits for no link, and for no pool but the one it names.
        const bool routed = book.routed && time_ >= book.route_until;
        paused = paused || (paused_pools_.contains(pool) && (routed || !m.pool.empty())) ||
                 (paused_links_.contains(first.name) && !d.other && routed);
        // (Of a link that is down one good probe is not enough.)
        const auto not_ready = [](const Host& h) { return !h.announced || h.health != q::Health::ready; };
        rests = rests || not_ready(first) || (d.other && not_ready(hosts_[host_at(*d.other, pool)]));
    }
    if (!rests) wrong("a try is counted that nothing delays: " + queue);
    if (paused) wrong("a try is counted that our own doing delays");
    const bool said = std::ranges::any_of(out_.list, [&](const q::Action& each) {
        const auto* notice = std::get_if<q::NoticeSuspended>(&each);
        return notice && notice->id == a.id && std::ranges::count(out_.of(notice->numbers), number) > 0 &&
               !out_.reasons[notice->reason].text.empty();
    });
    if (!said) wrong("a try is delayed, and nothing says so");
}

// Its time came a while ago: something keeps it, and no rest that is to be counted does.
void World::check_overdue(const Message& m) {
    if (!m.by_name || policy_of(m).kind == q::RetryPolicy::Kind::exchange) return; // a route's comes in the middle
    if (time_ < rest_began_ + 5 * second) return; // the engine counts the tries of all of them one after the other
    const auto overdue = [&](const Recipient& r) {
        return r.written == Written::open && !r.in_flight && r.failures > 0 && r.not_before + 5 * second < time_;
    };
    if (std::ranges::none_of(m.recipients, overdue)) return;
    for (const q::Explanation& each : engine_->explain(spool::QueueId{m.id})) {
        if (each.active || each.waiting == q::Waiting::suspect || each.waiting == q::Waiting::report) continue;
        if (!std::ranges::all_of(each.recipients, [&](auto n) { return overdue(m.recipients[n]); })) continue;
        if (std::ranges::all_of(each.gates, &q::GateInfo::open))
            return wrong("nothing keeps " + spool::QueueId{m.id}.text() +
                         ", its policy's time has come, and it is not tried");
        const bool other =
            std::ranges::any_of(each.gates, [](const q::GateInfo& gate) { // how a try ends is not known yet
                return !gate.open &&
                       (gate.gate == q::Gate::suppression || gate.text.find("under way") != std::string::npos);
            });
        const bool suspect = std::ranges::any_of(each.recipients, [&](auto n) { return m.recipients[n].suspect; });
        const bool counts =
            !other && !suspect && (each.waiting == q::Waiting::link || each.waiting == q::Waiting::queue);
        for (const q::GateInfo& gate : each.gates) {
            const bool shared = gate.gate == q::Gate::link || gate.gate == q::Gate::queue;
            if (counts && shared && !gate.open && gate.until > now().wall + 1s)
                return wrong("a rest delays " + spool::QueueId{m.id}.text() + ", and its policy's try is not counted");
        }
    }
}

} // namespace sim
