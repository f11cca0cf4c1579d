#include "daemons/decide/queue/engine/health_tracker.h"
#include <algorithm>
#include <utility>

namespace decide::queue {

namespace {

constexpr std::size_t failures_kept = 20; // of each link

void recover(HealthState& h, Seconds now) {
    const auto round = static_cast<std::uint16_t>(h.round + 1);
    auto failing = std::move(h.failing);
    h = HealthState{};
    h.round = round;
    failing.set(false, now);
    h.failing = std::move(failing);
}

} // namespace

// One rung up.
bool HealthTracker::climb(HealthState& h, const Ladder& rungs, smtp::Monotonic due, const Reason& reason) {
    const auto before = h.health;
    if (before == Health::ready) h.failing_since = step_.wall();
    h.health = h.failures >= rungs.glitch_count ? Health::retry : Health::glitch;
    h.probing = false;
    ++h.round;
    h.due = due;
    h.last_failure = step_.seconds(step_.now());
    h.failing.set(true, h.last_failure);
    h.last_error = reason;
    return h.health != before;
}

void HealthTracker::notice_link(Slot link, std::uint32_t event, bool changed) {
    const Link& l = links_[link];
    const bool failing = l.health.health != Health::ready;
    step_.emit(NoticeLink{l.name, l.health.health, l.health.failures, event, l.offer, changed,
                          failing ? step_.wall_of(l.health.due) : smtp::WallTime{},
                          failing ? &l.health.last_error : nullptr});
}

void HealthTracker::notice_queue(Slot queue, std::uint32_t event, bool changed) {
    const Queue& q = queues_[queue];
    const bool failing = q.health.health != Health::ready;
    step_.emit(NoticeQueue{q.name, q.health.health, q.health.failures, event, q.lanes.count, changed,
                           failing ? step_.wall_of(q.health.due) : smtp::WallTime{},
                           failing ? &q.health.last_error : nullptr});
}

void HealthTracker::link_succeeded(Slot link) {
    Link& l = links_[link];
    l.last_useful = step_.now();
    l.last_dropped_message = 0;
    l.orderly_closes = 0;
    l.push_backs = 0;
    l.retry_since = {};
    if (l.down) mark_up(link); // mail got through, or two probes did
    if (l.health.health != Health::ready) {
        recover(l.health, step_.seconds(step_.now()));
        notice_link(link, 0, true);
    } else if (l.open() >= l.window.size() && l.offer > 0) {
        l.window.success();
    }
    links_.schedule(link);
}

void HealthTracker::link_failed(Slot link, Slot connection, PushBack push_back, Phase phase, const Reason& reason) {
    Link& l = links_[link];
    const bool useful = l.last_useful && step_.now() - *l.last_useful <= settings_.link_health_evidence;
    const std::uint32_t others = l.up - (connections_[connection].state == ConnectionState::up ? 1 : 0);
    if (l.health.health == Health::ready && useful && others > 0) {
        // Others get through: that was one connection too many.
        l.window.push_back(others);
        const std::uint32_t doubled = std::min(l.push_backs, 6u);
        if (l.push_backs < 6) ++l.push_backs;
        l.not_before = step_.now() + settings_.push_back_pause * (1 << doubled);
        return;
    }
    if (connections_[connection].round != l.health.round) return; // for a try counted already
    const bool begins = l.health.health == Health::ready;
    l.window.failed();
    if (push_back == PushBack::yes) l.window.push_back(1);
    ++l.health.failures;
    l.rule = connections_[connection].rule;
    const Ladder& rungs = terms_.rule(l.rule).ladder;
    const bool changed = climb(l.health, rungs, step_.after(rung(rungs, l.health.failures)), reason);
    if (l.history.size() == failures_kept) l.history.erase(l.history.begin());
    l.history.push_back({step_.wall(), phase, reason});
    l.good_since.reset();
    if (l.health.health == Health::retry && l.retry_since == smtp::Monotonic{}) l.retry_since = step_.now();
    if (links_.may_go_down(l)) links_.timers.bring_forward(link, l.retry_since + settings_.link_down_after);
    links_.timers.bring_forward(link, l.health.due);
    notice_link(link, phase == Phase::connecting ? 4000 : 4001, changed);
    if (begins) suspensions_.log_link(link);
    placement_.count_delayed_tries_of_link(link);
}

void HealthTracker::queue_succeeded(Slot queue) {
    Queue& q = queues_[queue];
    q.distinct = false;
    q.failed_message = 0;
    q.head = none;
    q.health.failures = 0;
    if (q.health.health == Health::ready) return;
    recover(q.health, step_.seconds(step_.now()));
    notice_queue(queue, 0, true);
    scheduler_.refresh(queue);
}

void HealthTracker::queue_failed(Slot queue, const Reason& reason) {
    Queue& q = queues_[queue];
    const bool begins = q.health.health == Health::ready;
    q.policy_failed = true;
    ++q.health.failures;
    const Ladder& rungs = terms_.ladder(q);
    const bool changed = climb(q.health, rungs, step_.after(rung(rungs, q.health.failures)), reason);
    scheduler_.refresh(queue);
    scheduler_.arm(queue);
    notice_queue(queue, 4001, changed);
    if (begins) suspensions_.log_queue(queue);
    placement_.count_delayed_tries(queue);
}

smtp::Monotonic HealthTracker::message_failed(Slot queue, const Delivery& d, const Reason& reason) {
    Queue& q = queues_[queue];
    const std::uint32_t own = d.failures + 1u;
    const bool own_clock = terms_.has_own_clock(messages_[d.message], q);
    const bool evidence = q.last_delivered && step_.now() - *q.last_delivered <= settings_.health_evidence;
    const bool earlier = d.round != q.health.round; // handed over before the queue's last failure
    const bool known_problem = d.problem && q.health.health == Health::ready;
    if (evidence || earlier || known_problem) return terms_.policy_due(messages_[d.message], q, own);

    const bool begins = q.health.health != Health::retry;
    q.policy_failed = false;
    const std::uint64_t id = messages_[d.message].id;
    if (q.failed_message == 0) q.failed_message = id;
    if (q.failed_message != id) q.distinct = true;
    // A message that keeps its own time says nothing about its queue until another one fails, too.
    if (own_clock && !q.distinct && q.health.health == Health::ready)
        return terms_.policy_due(messages_[d.message], q, own);
    ++q.health.failures;
    // One failing message is not evidence against its queue: it advances on its own retry schedule, and the next
    // message waits for a glitch interval at most.
    const Ladder& rungs = terms_.ladder(q);
    if (q.health.failures >= rungs.glitch_count && !q.distinct)
        q.health.failures = std::max(rungs.glitch_count, 1u) - 1;
    const smtp::Duration wait = rung(rungs, q.health.failures);
    const smtp::Monotonic due = step_.after(wait);
    const bool changed = climb(q.health, rungs, due, reason);
    scheduler_.refresh(queue);
    scheduler_.arm(queue);
    notice_queue(queue, 4001, changed);
    if (begins && q.health.health == Health::retry) suspensions_.log_queue(queue);
    placement_.count_delayed_tries(queue);
    return !own_clock && rung(rungs, own) == wait ? due : terms_.policy_due(messages_[d.message], q, own);
}

void HealthTracker::push_back(Slot link, std::uint32_t open) {
    Link& l = links_[link];
    l.window.push_back(open);
    l.not_before = step_.now() + settings_.push_back_pause * (1 << std::min(l.push_backs, 6u));
    ++l.push_backs;
}

void HealthTracker::mark_down(Slot link) {
    Link& l = links_[link];
    l.down = true;
    l.good_since.reset();
    step_.emit(LinkState{l.name, true});
    resets_.schedule();
}

void HealthTracker::mark_up(Slot link) {
    Link& l = links_[link];
    l.down = false;
    l.good_since.reset();
    step_.emit(LinkState{l.name, false});
    resets_.schedule();
}

void HealthTracker::probe_succeeded(Slot link) {
    Link& l = links_[link];
    if (!l.down || l.offer > 0 || (l.good_since && step_.now() - *l.good_since >= settings_.link_up_after)) {
        link_succeeded(link);
        return;
    }
    if (!l.good_since) l.good_since = step_.now();
    l.health.due = *l.good_since + settings_.link_up_after;
    links_.timers.bring_forward(link, l.health.due);
}

} // namespace decide::queue
