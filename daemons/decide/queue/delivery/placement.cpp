#include "daemons/decide/queue/delivery/placement.h"
#include <algorithm>
#include <utility>

namespace decide::queue {

namespace {
// Tries delayed at once by a backoff are counted one after the other, so that no step writes records for a hundred
// thousand.
constexpr auto between_counts = std::chrono::microseconds(100);
} // namespace

Placement::Placement(const Settings& settings, Step& step, Terms& terms, Messages& messages, Deliveries& deliveries,
                     Queues& queues, Flows& flows, RouteLookups& lookups, Scheduler& scheduler, AgeWatch& ages,
                     Connections& connections, CategorizerQueue& categorizer, Reporter& reporter,
                     SuspensionLog& suspensions)
    : settings_(settings), step_(step), terms_(terms), messages_(messages), deliveries_(deliveries), queues_(queues),
      flows_(flows), lookups_(lookups), scheduler_(scheduler), ages_(ages), connections_(connections),
      categorizer_(categorizer), reporter_(reporter), suspensions_(suspensions), waiting_(deliveries) {}

void Placement::place(Slot slot, End end) {
    Delivery& d = deliveries_[slot];
    Message& m = messages_[d.message];
    if (m.held || m.with_earlier_agent) {
        d.state = DeliveryState::held;
        d.ready = 0;
        return;
    }
    m.scheduled = m.scheduled && m.free_from > step_.wall_seconds();
    if (d.scheduled && !m.scheduled) d.due = std::min(d.due, step_.now()); // the clock may have jumped meanwhile
    d.scheduled = m.scheduled;
    if (d.scheduled) d.due = step_.monotonic_of(smtp::WallTime(std::chrono::seconds(m.free_from)));
    if (d.due > step_.now()) {
        d.state = DeliveryState::waiting;
        d.ready = 0;
        waiting_.set(slot, d.due);
        count_waiting(d, 1);
        return;
    }
    if (d.ready == 0) d.ready = step_.seconds(step_.now());
    if (d.queue == none) return categorizer_.await(slot, end);
    if (d.needs_suppression_check) return check_suppressions(slot);
    if (d.suspect) {
        d.state = DeliveryState::isolated;
        isolated(kind_of(slot)).push(deliveries_, slot, End::back);
        if (queues_[d.queue].link == none) lookups_.add(d.queue);
        return;
    }
    d.own_clock = terms_.has_own_clock(messages_[d.message], queues_[d.queue]);
    if (d.own_clock)
        if (const Reason* why = suspensions_.policy_backoff_reason(d.queue)) return count_try(slot, *why, Try::delayed);
    d.state = DeliveryState::ready;
    Queue& q = queues_[d.queue];
    flows_.push(q.lanes, d.queue, d.problem ? problem_lane : static_cast<std::size_t>(m.lane), m.submitter, slot, end,
                step_.now());
    scheduler_.refresh(d.queue);
    if (d.unlogged)
        if (const Reason* why = suspensions_.backoff_reason(d.queue)) suspensions_.log_suspended(slot, *why);
}

void Placement::count_waiting(const Delivery& d, int by) {
    if (d.scheduled)
        scheduled_ += static_cast<std::uint64_t>(by);
    else if (d.queue == none)
        uncategorized_ += static_cast<std::uint64_t>(by);
    else
        queues_[d.queue].waiting += static_cast<std::uint32_t>(by);
}

void Placement::take_out(Slot slot) {
    Delivery& d = deliveries_[slot];
    switch (d.state) {
    case DeliveryState::waiting:
        waiting_.remove(slot);
        count_waiting(d, -1);
        break;
    case DeliveryState::ready:
        flows_.remove(queues_[d.queue].lanes, slot);
        scheduler_.refresh(d.queue);
        break;
    case DeliveryState::pending:
    case DeliveryState::categorizing: categorizer_.remove(slot); break;
    case DeliveryState::isolated: isolated(kind_of(slot)).remove(deliveries_, slot); break;
    case DeliveryState::active: connections_.remove_delivery(slot); break;
    case DeliveryState::checking: // the answer comes too late
        --checking_;
        d.needs_suppression_check = true;
        break;
    case DeliveryState::held: break;
    }
    d.state = DeliveryState::held; // nowhere
    d.own_clock = false;
}

void Placement::due_now(Slot slot) {
    take_out(slot);
    if (!join(slot)) place(slot, End::back);
}

// Recipients of one message that are due within the same minute are delivered together again: this one joins another
// that waits, or the other joins now if it was due later and has not been postponed before. Never early.
bool Placement::join(Slot slot) {
    Delivery& d = deliveries_[slot];
    const Message& m = messages_[d.message];
    const bool only = m.first == slot && d.next_of_message == none;
    if (only || d.queue == none || d.suspect || d.postponed || m.held || m.with_earlier_agent) return false;
    if (queues_[d.queue].waiting == 0) return false;
    const smtp::Monotonic mine = std::max(d.due, step_.now());
    for (Slot other = m.first; other != none; other = deliveries_[other].next_of_message) {
        Delivery& o = deliveries_[other];
        if (other == slot || o.queue != d.queue || o.sender_group != d.sender_group || o.problem != d.problem) continue;
        if (o.suspect || o.scheduled || o.state != DeliveryState::waiting) continue;
        if (o.delay_notified != d.delay_notified) continue;
        if (o.due - mine > std::chrono::minutes(1) || mine - o.due > std::chrono::minutes(1)) continue;
        if (o.due < mine && o.postponed) continue;
        if (o.count + d.count > settings_.recipients_per_transaction) continue;
        auto all = deliveries_.entries(other);
        for (const Entry& each : deliveries_.entries(slot)) all.push_back(each);
        deliveries_.set_entries(other, all);
        o.postponed = true;
        o.needs_suppression_check = o.needs_suppression_check || d.needs_suppression_check;
        o.since = std::min(o.since, d.since);
        o.message_failures = std::max(o.message_failures, d.message_failures);
        o.deaths = std::max(o.deaths, d.deaths);
        if (mine > o.due) waiting_.set(other, mine);
        remove(slot);
        return true;
    }
    return false;
}

AgentKind Placement::kind_of(Slot delivery) const {
    const Delivery& d = deliveries_[delivery];
    return queues_[d.queue].route == RouteState::store ? AgentKind::local : AgentKind::smtp;
}

void Placement::check_suppressions(Slot slot) {
    Delivery& d = deliveries_[slot];
    const Message& m = messages_[d.message];
    d.state = DeliveryState::checking;
    d.needs_suppression_check = false; // set again if the list changes before the answer
    ++checking_;
    step_.emit(
        AskSuppressions{deliveries_.id_of(slot), spool::QueueId{m.id}, m.location, deliveries_.numbers_of(slot)});
}

void Placement::return_untried(Slot slot, End end) {
    const Slot queue = deliveries_[slot].queue;
    deliveries_[slot].due = step_.now();
    place(slot, end); // a try that is delayed may have been its last
    scheduler_.refresh(queue);
    // Its link may have failed while this was the queue's one try and the queue was in no ring.
    count_delayed_tries(queue);
}

void Placement::held_changed(Slot message) {
    std::vector<Slot> all;
    for (Slot slot = messages_[message].first; slot != none; slot = deliveries_[slot].next_of_message)
        all.push_back(slot);
    const bool held = messages_[message].held || messages_[message].with_earlier_agent;
    for (Slot slot : all) {
        Delivery& d = deliveries_[slot];
        if (d.state == DeliveryState::active || (d.state == DeliveryState::held) == held) continue;
        take_out(slot);
        if (!held) d.since = step_.seconds(step_.now()) + 1;
        place(slot, End::back);
    }
}

void Placement::count_try(Slot slot, const Reason& reason, Try how) {
    const Delivery like = deliveries_[slot];
    std::vector<Entry> list = deliveries_.entries(slot);
    std::uint16_t most = 0;
    for (Entry& each : list) {
        if (each.failures < 0xffff) ++each.failures;
        most = std::max(most, each.failures);
    }
    if (how == Try::delayed) suspensions_.log_suspended(slot, reason); // the log has a line for every try
    Slot spare = slot;
    const smtp::Monotonic due = terms_.policy_due(messages_[like.message], queues_[like.queue], most);
    defer(like, spare, list, due, reason, how);
    if (spare != none) remove(spare);
    if (const Slot extra = messages_[like.message].extras; extra != none && !messages_.extras[extra].reports.empty())
        reporter_.plan(like.message);
}

void Placement::count_delayed_tries(Slot queue) {
    const Queue& q = queues_[queue];
    if (q.lanes.own_clock == 0 || suspensions_.policy_backoff_reason(queue) == nullptr) return;
    std::vector<Slot> all;
    for (Slot slot = flows_.first(q.lanes); slot != none && all.size() < q.lanes.own_clock;
         slot = flows_.next(q.lanes, slot))
        if (deliveries_[slot].own_clock) all.push_back(slot);
    auto due = step_.now() + between_counts;
    for (const Slot slot : all) {
        take_out(slot);
        deliveries_[slot].due = due;
        due += between_counts;
        place(slot, End::back);
    }
}

void Placement::count_delayed_tries_of_link(Slot link) {
    for (const Slot queue : scheduler_.ring_of(link)) count_delayed_tries(queue);
}

void Placement::apply_route_policy(Slot queue) {
    const Queue& q = queues_[queue];
    if (terms_.rule(q.rule).policy == Terms::unnamed_policy || q.lanes.count == q.lanes.own_clock) return;
    std::vector<Slot> all;
    for (Slot slot = flows_.first(q.lanes); slot != none; slot = flows_.next(q.lanes, slot))
        if (!deliveries_[slot].own_clock) all.push_back(slot);
    for (const Slot slot : all) {
        if (!terms_.has_own_clock(messages_[deliveries_[slot].message], queues_[queue])) continue;
        deliveries_[slot].own_clock = true;
        ++queues_[queue].lanes.own_clock;
    }
}

Slot Placement::delivery_like(const Delivery& like, Slot& spare, const std::vector<Entry>& list) {
    const bool fresh = spare == none;
    const Slot slot = fresh ? deliveries_.add(like.message) : std::exchange(spare, none);
    Delivery& d = deliveries_[slot];
    if (fresh) ++queues_[like.queue].deliveries;
    d.queue = like.queue;
    d.sender_group = like.sender_group;
    d.message_failures = like.message_failures;
    d.deaths = like.deaths;
    d.problem = like.problem;
    d.suspect = like.suspect;
    d.first_try_reported = like.first_try_reported;
    d.delay_notified = like.delay_notified;
    d.needs_suppression_check = like.needs_suppression_check;
    d.since = like.since;
    d.tried = like.tried;
    d.ready = like.ready;
    deliveries_.set_entries(slot, list);
    return slot;
}

// (For a try that was only counted, the sweeper decides whether the message expires.)
void Placement::defer(const Delivery& like, Slot& spare, const std::vector<Entry>& list, smtp::Monotonic due,
                      const Reason& reason, Try how) {
    const Slot message = like.message;
    const Message& m = messages_[message];
    if (how == Try::made && !m.held && ages_.expires(m) <= step_.wall_seconds()) {
        reporter_.expire(like, list, reason);
        return;
    }
    if (std::ranges::any_of(list, [&](const Entry& each) { return terms_.exhausted(m, each.failures); })) {
        std::vector<Entry> over, rest; // the policy allows no further try
        for (const Entry& each : list) (terms_.exhausted(m, each.failures) ? over : rest).push_back(each);
        reporter_.expire(like, over, reason);
        if (!rest.empty()) defer(like, spare, rest, due, reason, how);
        return;
    }
    const Slot slot = delivery_like(like, spare, list);
    queues_[like.queue].last_wait = reason;
    reporter_.report_first_try(slot, list, reason);
    Delivery& d = deliveries_[slot];
    if (how == Try::made) d.tried = step_.seconds(step_.now());
    d.due = due;
    d.ready = 0;
    std::vector<Entry> rest = list;
    const auto why = step_.reason(reason);
    while (!rest.empty()) { // one record per rung
        const std::uint16_t failures = rest.front().failures;
        std::vector<Entry> group;
        std::erase_if(rest, [&](const Entry& each) {
            if (each.failures != failures) return false;
            group.push_back(each);
            return true;
        });
        step_.emit(RecordDeferral{spool::QueueId{m.id}, step_.numbers(group), failures, d.message_failures, d.problem,
                                  step_.wall_of(due), why});
    }
    ages_.leave_incoming(message);
    if (!join(slot)) place(slot, End::back);
}

void Placement::fail_ready(Slot queue, const Reason& why) {
    const Reason reason = why; // it may be the queue's own
    auto fail = [&](Slot slot) {
        const Slot message = deliveries_[slot].message;
        suspensions_.log_undelivered(slot, Outcome::failed, reason);
        for (const Entry& each : deliveries_.entries(slot))
            reporter_.report(message, ReportKind::failed, each.number, false, reason);
        remove(slot);
        finish(message);
    };
    while (queues_[queue].lanes.count > 0) fail(flows_.take(queues_[queue].lanes, settings_, step_.now()));
    auto& alone = isolated(AgentKind::smtp);
    for (Slot slot = alone.head; slot != none;) {
        const Slot next = deliveries_[slot].next;
        if (deliveries_[slot].queue == queue) {
            alone.remove(deliveries_, slot);
            fail(slot);
        }
        slot = next;
    }
}

void Placement::remove(Slot slot) {
    if (const Slot queue = deliveries_[slot].queue; queue != none) {
        Queue& q = queues_[queue];
        if (--q.deliveries == 0) {
            q.empty_since = std::max(step_.now(), q.health.due);
            scheduler_.arm(queue);
        }
    }
    deliveries_.remove(slot);
}

void Placement::finish(Slot slot) {
    Message& m = messages_[slot];
    if (m.open == 0 && m.first == none && m.extras != none) {
        // A delay notice that has not been requested yet is superseded.
        std::erase_if(messages_.extras[m.extras].reports,
                      [](const PendingReport& due) { return due.kind == ReportKind::delayed && due.request == 0; });
    }
    const bool reports = m.extras != none && !messages_.extras[m.extras].reports.empty();
    if (m.extras != none && !reports && !(m.notifies_late && m.open > 0) &&
        messages_.extras[m.extras].restored.empty() && messages_.extras[m.extras].finished.empty() &&
        messages_.extras[m.extras].undecided.empty()) {
        reporter_.drop(slot);
        messages_.extras.release(std::exchange(m.extras, none));
    }
    if (m.open == 0 && m.first == none && !reports) {
        step_.emit(Remove{spool::QueueId{m.id}, m.location});
        forget(slot);
        return;
    }
    if (reports) reporter_.plan(slot);
}

void Placement::forget(Slot slot) {
    const Message& m = messages_[slot];
    while (m.first != none) {
        const Slot delivery = m.first;
        take_out(delivery);
        remove(delivery);
    }
    ages_.unwatch(slot);
    reporter_.drop(slot);
    messages_.remove(slot);
}

void Placement::run_due() {
    while (!waiting_.empty() && waiting_.next() <= step_.now()) due_now(waiting_.top());
}

std::optional<smtp::Monotonic> Placement::next() const {
    if (waiting_.empty()) return {};
    return waiting_.next();
}

void Placement::reschedule() {
    const std::vector<Slot> waiting = waiting_.slots();
    for (const Slot slot : waiting) {
        if (!deliveries_[slot].scheduled) continue;
        take_out(slot);
        deliveries_[slot].due = step_.now();
        place(slot, End::back);
    }
}

} // namespace decide::queue
