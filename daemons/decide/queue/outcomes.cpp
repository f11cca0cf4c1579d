// The results of one delivery, sorted by whose failure it is: recipient, message, queue, link; and what
// follows for each of them.
#include "daemons/decide/queue/core.h"
#include <algorithm>
#include <utility>

namespace decide::queue {

namespace {

const Reason unknown;

std::uint16_t one_more(std::uint16_t failures) { return failures == 0xffff ? failures : failures + 1; }

} // namespace

struct Core::Verdicts {
    std::vector<Entry> delivered;
    std::vector<Entry> told;                                   // delivered, and the sender hears of it
    std::vector<Entry> by_message;                             // failed with the message, for now
    std::vector<std::pair<Entry, const Reason*>> by_recipient; // each on its own ladder
    std::vector<Entry> untried;                                // the queue's or the link's failure
    std::vector<Entry> unnamed;                                // the agent said nothing of them
    const Reason* message = nullptr;
    const Reason* policy = nullptr;
    const Reason* connection = nullptr;
    bool answered = false; // the session got as far as a verdict on message or recipients
    bool dropped = false;
    PushBack push_back = PushBack::no;
};

void Core::process_results(Slot slot, Slot link, Slot connection, const Done& event) {
    const Delivery like = deliveries_[slot];
    Message& m = messages_[like.message];
    Queue& q = queues_[like.queue];
    // The ordinary case, short.
    if (like.count == 1 && event.results.size() == 1 && event.results[0].number == like.number &&
        event.results[0].outcome == Outcome::delivered && event.results[0].report == SuccessReport::none) {
        link_succeeded(link);
        q.last_delivered = now_.monotonic;
        queue_succeeded(like.queue);
        --m.open;
        if (m.open > 0) emit(RecordOutcome{spool::QueueId{m.id}, numbers_of(slot), Finish::delivered, {}});
        free_delivery(slot);
        finish(like.message);
        return;
    }
    Verdicts v = classify_results(slot, event);
    update_link_health(link, connection, m.id, v);
    if (!v.delivered.empty()) q.last_delivered = now_.monotonic;
    if (v.answered && !v.message) queue_succeeded(like.queue);
    const smtp::Monotonic message_due =
        v.message ? message_failed(like.queue, like, *v.message) : smtp::Monotonic{};
    if (v.policy && like.round == q.health.round) queue_failed(like.queue, *v.policy);

    m.open -= static_cast<std::uint32_t>(v.delivered.size());
    if (!v.delivered.empty() && (m.open > 0 || m.extras != none))
        emit(RecordOutcome{spool::QueueId{m.id}, numbers_of(v.delivered), Finish::delivered, {}});
    if (!v.told.empty()) emit(RecordOutcome{spool::QueueId{m.id}, numbers_of(v.told), Finish::delivered, {}});
    Slot spare = slot;
    if (v.message) defer_message(like, spare, v, message_due);
    defer_recipients(like, spare, v);
    if (!v.untried.empty()) {
        const Slot again = delivery_like(like, spare, v.untried);
        const Reason& why = v.connection ? *v.connection : *v.policy;
        if (!count_by_policy(again, why)) {
            report_first_try(again, v.untried, why);
            return_untried(again, v.connection ? End::back : End::front);
        }
    }
    if (!v.unnamed.empty()) { // an error of ours: not at once again, and not counted
        const Slot again = delivery_like(like, spare, v.unnamed);
        deliveries_[again].due = after(settings_.requeue_retry);
        place(again, End::back);
    }
    if (spare != none) free_delivery(spare);
    refresh(like.queue);
    count_delayed_tries(like.queue);
    finish(like.message);
}

Core::Verdicts Core::classify_results(Slot slot, const Done& event) {
    const Slot message = deliveries_[slot].message;
    const bool verify = messages_[message].trace == Trace::verify;
    Verdicts v;
    v.unnamed = entries(slot);
    for (const Result& r : event.results) {
        const auto at = std::ranges::find(v.unnamed, r.number, &Entry::number);
        if (at == v.unnamed.end()) continue;
        const Entry entry = *at;
        v.unnamed.erase(at);
        const Reason* why = r.reason ? r.reason : &unknown;
        if (r.push_back == PushBack::yes) v.push_back = PushBack::yes;
        if (r.outcome == Outcome::delivered || r.kind == FailureKind::message ||
            r.kind == FailureKind::recipient)
            v.answered = true;
        if (r.outcome == Outcome::delivered && r.report == SuccessReport::none) {
            v.delivered.push_back(entry);
        } else if (r.outcome == Outcome::delivered) {
            const bool relayed = r.report == SuccessReport::relayed;
            report(message, relayed ? ReportKind::relayed : ReportKind::delivered, r.number, false, *why);
            v.told.push_back(entry);
        } else if (r.outcome == Outcome::failed) {
            report(message, ReportKind::failed, r.number, false, *why);
        } else if (verify) {
            report_verification(message, {entry}, *why);
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
void Core::update_link_health(Slot link, Slot connection, std::uint64_t id, const Verdicts& v) {
    Link& l = links_[link];
    if (v.dropped && l.last_dropped_message != 0 && l.last_dropped_message != id) {
        l.last_dropped_message = 0;
        l.last_useful.reset();
        link_failed(link, connection, PushBack::no, Phase::session, *v.message);
    } else if (v.answered) {
        link_succeeded(link);
        if (v.dropped) l.last_dropped_message = id;
        if (v.push_back == PushBack::yes) push_back(link, l.up > 1 ? l.up - 1 : 1);
    } else if (v.connection) {
        link_failed(link, connection, v.push_back, Phase::session, *v.connection);
    }
}

void Core::defer_message(const Delivery& like, Slot& spare, Verdicts& v, smtp::Monotonic due) {
    Queue& q = queues_[like.queue];
    const Slot slot = spare;
    Delivery then = like;
    then.suspect = false;
    if (then.message_failures < 255) ++then.message_failures;
    const std::uint32_t problem = ladder(q).failures_before_problem;
    if (problem != 0 && then.message_failures >= problem) then.problem = true;
    for (Entry& each : v.by_message) each.failures = one_more(each.failures);
    defer_delivery(then, spare, v.by_message, due, *v.message);
    if (then.problem || q.health.health == Health::ready || q.health.due != due) return;
    q.head = slot; // the queue's next try is for the same message
    q.head_generation = deliveries_[slot].generation;
}

// Those that climbed equally high, for the same reason, wait together.
void Core::defer_recipients(const Delivery& like, Slot& spare, Verdicts& v) {
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
        const auto due = store && !has_own_clock(like.message, like.queue)
                             ? after(settings_.local_retry)
                             : policy_due(like.message, like.queue, one_more(first.failures));
        defer_delivery(then, spare, group, due, *why);
    }
}

// A delivery like the one tried, for these of its recipients: in `spare` if that is still free.
Slot Core::delivery_like(const Delivery& like, Slot& spare, const std::vector<Entry>& list) {
    const bool fresh = spare == none;
    const Slot slot = fresh ? new_delivery(like.message) : std::exchange(spare, none);
    Delivery& d = deliveries_[slot];
    if (fresh) ++queues_[like.queue].deliveries;
    d.queue = like.queue;
    d.sender_group = like.sender_group;
    d.message_failures = like.message_failures;
    d.deaths = like.deaths;
    d.problem = like.problem;
    d.suspect = like.suspect;
    d.first_try_reported = like.first_try_reported;
    d.needs_suppression_check = like.needs_suppression_check;
    d.since = like.since;
    d.tried = like.tried;
    set_entries(slot, list);
    return slot;
}

// (Of a try that was only counted the sweeper judges whether it is enough to expire.)
void Core::defer_delivery(const Delivery& like, Slot& spare, const std::vector<Entry>& list, smtp::Monotonic due,
                      const Reason& reason, Try how) {
    const Slot message = like.message;
    const Message& m = messages_[message];
    if (how == Try::made && !m.held && expires(m) <= wall_seconds()) {
        expire(message, list, reason);
        return;
    }
    if (std::ranges::any_of(list, [&](const Entry& each) { return exhausted(message, each.failures); })) {
        std::vector<Entry> over, rest; // the policy allows no further try
        for (const Entry& each : list) (exhausted(message, each.failures) ? over : rest).push_back(each);
        expire(message, over, reason);
        if (!rest.empty()) defer_delivery(like, spare, rest, due, reason, how);
        return;
    }
    const Slot slot = delivery_like(like, spare, list);
    queues_[like.queue].last_wait = reason;
    report_first_try(slot, list, reason);
    Delivery& d = deliveries_[slot];
    if (how == Try::made) d.tried = seconds(now_.monotonic);
    d.due = due;
    std::vector<Entry> rest = list;
    const auto why = static_cast<std::uint32_t>(out_->reasons.size());
    out_->reasons.push_back(reason);
    while (!rest.empty()) { // one record per rung
        const std::uint16_t failures = rest.front().failures;
        std::vector<Entry> group;
        std::erase_if(rest, [&](const Entry& each) {
            if (each.failures != failures) return false;
            group.push_back(each);
            return true;
        });
        emit(RecordDeferral{spool::QueueId{m.id}, numbers_of(group), failures, d.message_failures, d.problem,
                            wall_of(due), why});
    }
    leave_incoming(message);
    if (!join(slot)) place(slot, End::back);
}

} // namespace decide::queue
