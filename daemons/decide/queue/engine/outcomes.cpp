#include "daemons/decide/queue/engine/outcomes.h"
#include <algorithm>
#include <utility>

namespace decide::queue {

namespace {

const Reason unknown;

std::uint16_t one_more(std::uint16_t failures) { return failures == 0xffff ? failures : failures + 1; }

} // namespace

void Outcomes::process(Slot slot, Slot link, Slot connection, const Done& event) {
    const Delivery like = deliveries_[slot];
    Message& m = messages_[like.message];
    Queue& q = queues_[like.queue];
    // The ordinary case, short.
    if (like.count == 1 && event.results.size() == 1 && event.results[0].number == like.number &&
        event.results[0].outcome == Outcome::delivered && event.results[0].report == SuccessReport::none) {
        health_.link_succeeded(link);
        q.last_delivered = step_.now();
        health_.queue_succeeded(like.queue);
        --m.open;
        if (m.open > 0)
            step_.emit(RecordOutcome{spool::QueueId{m.id}, deliveries_.numbers_of(slot), Finish::delivered, {}});
        placement_.remove(slot);
        placement_.finish(like.message);
        return;
    }
    Verdicts v = classify(slot, event);
    update_link_health(link, connection, m.id, v);
    if (!v.delivered.empty()) q.last_delivered = step_.now();
    if (v.answered && !v.message) health_.queue_succeeded(like.queue);
    const smtp::Monotonic message_due =
        v.message ? health_.message_failed(like.queue, like, *v.message) : smtp::Monotonic{};
    if (v.policy && like.round == q.health.round) health_.queue_failed(like.queue, *v.policy);

    m.open -= static_cast<std::uint32_t>(v.delivered.size());
    if (!v.delivered.empty() && (m.open > 0 || m.extras != none))
        step_.emit(RecordOutcome{spool::QueueId{m.id}, step_.numbers(v.delivered), Finish::delivered, {}});
    if (!v.told.empty()) step_.emit(RecordOutcome{spool::QueueId{m.id}, step_.numbers(v.told), Finish::delivered, {}});
    Slot spare = slot;
    if (v.message) defer_message(like, spare, v, message_due);
    defer_recipients(like, spare, v);
    if (!v.untried.empty()) {
        const Slot again = placement_.delivery_like(like, spare, v.untried);
        const Reason& why = v.connection ? *v.connection : *v.policy;
        if (!count_by_policy(again, why)) {
            reporter_.report_first_try(again, v.untried, why);
            placement_.return_untried(again, v.connection ? End::back : End::front);
        }
    }
    if (!v.unnamed.empty()) { // an error of ours: not at once again, and not counted
        const Slot again = placement_.delivery_like(like, spare, v.unnamed);
        deliveries_[again].due = step_.after(settings_.requeue_retry);
        placement_.place(again, End::back);
    }
    if (spare != none) placement_.remove(spare);
    scheduler_.refresh(like.queue);
    placement_.count_delayed_tries(like.queue);
    placement_.finish(like.message);
}

Outcomes::Verdicts Outcomes::classify(Slot slot, const Done& event) {
    const Slot message = deliveries_[slot].message;
    const bool verify = messages_[message].trace == Trace::verify;
    Verdicts v;
    v.unnamed = deliveries_.entries(slot);
    for (const Result& r : event.results) {
        const auto at = std::ranges::find(v.unnamed, r.number, &Entry::number);
        if (at == v.unnamed.end()) continue;
        const Entry entry = *at;
        v.unnamed.erase(at);
        const Reason* why = r.reason ? r.reason : &unknown;
        if (r.push_back == PushBack::yes) v.push_back = PushBack::yes;
        if (r.outcome == Outcome::delivered || r.kind == FailureKind::message || r.kind == FailureKind::recipient)
            v.answered = true;
        if (r.outcome == Outcome::delivered && r.report == SuccessReport::none) {
            v.delivered.push_back(entry);
        } else if (r.outcome == Outcome::delivered) {
            const bool relayed = r.report == SuccessReport::relayed;
            reporter_.report(message, relayed ? ReportKind::relayed : ReportKind::delivered, r.number, false, *why);
            v.told.push_back(entry);
        } else if (r.outcome == Outcome::failed) {
            reporter_.report(message, ReportKind::failed, r.number, false, *why);
        } else if (verify) {
            reporter_.report_verification(message, {entry}, *why);
            if (r.kind == FailureKind::policy) v.policy = why;
            if (r.kind == FailureKind::connection) v.connection = why;
        } else if (r.kind == FailureKind::recipient) {
            v.by_recipient.emplace_back(entry, why);
        } else if (r.kind == FailureKind::message) {
            v.by_message.push_back(entry);
            v.message = why;
        } else {
            v.untried.push_back(entry);
            (r.kind == FailureKind::policy ? v.policy : v.connection) = why;
        }
    }
    v.dropped = event.dropped && v.message;
    return v;
}

// A session that reached a verdict proves the link healthy; but two different messages in a row that were cut
// off at their data speak against it.
void Outcomes::update_link_health(Slot link, Slot connection, std::uint64_t id, const Verdicts& v) {
    Link& l = links_[link];
    if (v.dropped && l.last_dropped_message != 0 && l.last_dropped_message != id) {
        l.last_dropped_message = 0;
        l.last_useful.reset();
        health_.link_failed(link, connection, PushBack::no, Phase::session, *v.message);
    } else if (v.answered) {
        health_.link_succeeded(link);
        if (v.dropped) l.last_dropped_message = id;
        if (v.push_back == PushBack::yes) health_.push_back(link, l.up > 1 ? l.up - 1 : 1);
    } else if (v.connection) {
        health_.link_failed(link, connection, v.push_back, Phase::session, *v.connection);
    }
}

void Outcomes::defer_message(const Delivery& like, Slot& spare, Verdicts& v, smtp::Monotonic due) {
    Queue& q = queues_[like.queue];
    const Slot slot = spare;
    Delivery then = like;
    then.suspect = false;
    if (then.message_failures < 255) ++then.message_failures;
    const std::uint32_t problem = terms_.ladder(q).failures_before_problem;
    if (problem != 0 && then.message_failures >= problem) then.problem = true;
    for (Entry& each : v.by_message) each.failures = one_more(each.failures);
    placement_.defer(then, spare, v.by_message, due, *v.message);
    if (then.problem || q.health.health == Health::ready || q.health.due != due) return;
    q.head = slot; // the queue's next try is for the same message
    q.head_generation = deliveries_[slot].generation;
}

// Those that climbed equally high, for the same reason, wait together.
void Outcomes::defer_recipients(const Delivery& like, Slot& spare, Verdicts& v) {
    Delivery then = like;
    then.suspect = false;
    const bool store = queues_[like.queue].route == RouteState::store;
    while (!v.by_recipient.empty()) {
        const auto [first, why] = v.by_recipient.front();
        std::vector<Entry> group;
        std::erase_if(v.by_recipient, [&, &first = first, &why = why](const auto& each) {
            if (each.first.failures != first.failures || *each.second != *why) return false;
            group.push_back(Entry{each.first.number, one_more(each.first.failures), each.first.key});
            return true;
        });
        const auto due =
            store && !terms_.has_own_clock(messages_[like.message], queues_[like.queue])
                ? step_.after(settings_.local_retry)
                : terms_.policy_due(messages_[like.message], queues_[like.queue], one_more(first.failures));
        placement_.defer(then, spare, group, due, *why);
    }
}

bool Outcomes::count_by_policy(Slot slot, const Reason& reason) {
    const Delivery& d = deliveries_[slot];
    if (d.queue == none || d.suspect) return false;
    if (!terms_.has_own_clock(messages_[d.message], queues_[d.queue])) return false;
    if (!suspensions_.policy_backoff_reason(d.queue)) return false;
    placement_.count_try(slot, reason, Placement::Try::made);
    return true;
}

} // namespace decide::queue
