// What agents report, sorted by whose failure it is: recipient, message, queue, link. Nothing is counted
// against mail for what is our own doing: connections closed, agents stopped.
#include "daemons/decide/outcome/failure.h"
#include "daemons/decide/queue/core.h"
#include <algorithm>

namespace decide::queue {

void Core::connected(ConnectionId id) {
    const Slot slot = connection_of(id);
    if (slot == none || connections_[slot].state != ConnectionState::opening) return;
    Connection& c = connections_[slot];
    Link& l = links_[c.link];
    --l.opening;
    ++l.up;
    c.state = ConnectionState::up;
    c.last_done = now_.monotonic;
    l.last_progress = now_.monotonic;
    if (c.probe && c.deliveries.empty()) {
        probe_succeeded(c.link); // without mail, or its message was taken away: this must do
        close(slot);
    }
    idle_or_close(slot);
    schedule(c.link);
}

void Core::remove_from_connection(Slot slot) {
    Delivery& d = deliveries_[slot];
    Connection& c = connections_[d.holder];
    Queue& q = queues_[d.queue];
    c.deliveries.remove(deliveries_, slot);
    --links_[c.link].in_flight;
    --q.active;
    --messages_[d.message].active;
    --agent(c.agent)->in_flight;
    d.holder = none;
    d.cancelled = false;
    d.state = DeliveryState::held; // nowhere
    if (q.health.health != Health::ready && d.round == q.health.round) q.health.probing = false;
    if (q.per_user) refresh(d.queue);
}

void Core::return_untried(Slot slot, End end) {
    const Slot queue = deliveries_[slot].queue;
    deliveries_[slot].due = now_.monotonic;
    place(slot, end); // a try that is delayed may have been its last
    refresh(queue);
    count_delayed_tries(queue); // its link may have failed while this was the queue's one try, and the queue in no ring
}

// The quickest recent transaction tells what the peer needs; ours slow each other down when they are many. It
// may rise to twice the value every two seconds.
void Core::record_transaction_time(Slot connection, Slot delivery) {
    Connection& c = connections_[connection];
    Link& l = links_[c.link];
    const auto sample =
        std::max(now_.monotonic - std::max(c.last_done, deliveries_[delivery].due), smtp::Duration(1));
    c.last_done = l.last_progress = now_.monotonic;
    c.stalled = false;
    ++c.completed;
    if (l.transaction.count() == 0) {
        l.transaction = sample;
    } else if (sample < l.transaction) {
        l.transaction -= (l.transaction - sample) / 4;
    } else if (now_.monotonic - l.transaction_raised >= std::chrono::seconds(2)) {
        l.transaction = std::min(sample, 2 * l.transaction);
        l.transaction_raised = now_.monotonic;
    }
}

void Core::push_back(Slot link, std::uint32_t open) {
    Link& l = links_[link];
    l.window.push_back(open);
    l.not_before = now_.monotonic + settings_.push_back_pause * (1 << std::min(l.push_backs, 6u));
    ++l.push_backs;
}

Slot Core::active_delivery(DeliveryId id) const {
    const Slot slot = static_cast<Slot>(id);
    const bool known = slot != none && slot <= deliveries_.top() &&
                       deliveries_[slot].generation == static_cast<std::uint32_t>(id >> 32) &&
                       deliveries_[slot].state == DeliveryState::active && deliveries_[slot].message != none;
    return known ? slot : none;
}

void Core::done(const Done& event) {
    const Slot slot = active_delivery(event.delivery);
    if (slot == none) {
        accept_repeated(event);
        return;
    }
    const Slot connection = deliveries_[slot].holder;
    const Slot link = connections_[connection].link;
    record_transaction_time(connection, slot);
    remove_from_connection(slot);
    process_results(slot, link, connection, event);
    idle_or_close(connection);
    schedule(link);
}

void Core::closed(const Closed& event) {
    const Slot slot = connection_of(event.connection);
    if (slot == none) return;
    Connection& c = connections_[slot];
    const Slot link = c.link;
    Link& l = links_[link];
    const bool nothing_done = c.completed == 0;
    bool failed = event.failed && nothing_done;
    Reason reason = event.reason ? *event.reason : Reason{};
    if (event.at_address_limit) {
        reached_address_limit(link); // its message was not tried
    } else if (!event.failed && nothing_done && !c.deliveries.empty() &&
               c.state != ConnectionState::closing && ++l.orderly_closes >= 3) {
        failed = true; // a peer that is polite for ever would keep us busy for ever
        reason =
            Reason{"4.4.2", "the connection was closed several times in a row before anything was sent", "", ""};
    }
    // What one route demands is no failure of a link that serves others, too.
    const bool of_queue = failed && event.policy && l.terms.size() > 1 && !c.deliveries.empty();
    if (of_queue) {
        const Delivery& tried = deliveries_[c.deliveries.head];
        if (tried.round == queues_[tried.queue].health.round)
            queue_failed(tried.queue, reason); // else it is counted already
    } else if (failed) {
        link_failed(link, slot, event.push_back, event.was_up ? Phase::session : event.phase, reason);
    } else if (event.push_back == PushBack::yes) {
        push_back(link, l.up > 1 ? l.up - 1 : 1);
    }
    // Back where they came from; but a failed try's message goes last, so that the next one takes another.
    Slot turn = none;
    while (!c.deliveries.empty()) {
        const Slot delivery = c.deliveries.tail;
        const bool first = c.deliveries.count == 1;
        turn = deliveries_[delivery].queue;
        remove_from_connection(delivery);
        if (failed && first) {
            if (messages_[deliveries_[delivery].message].trace == Trace::verify) {
                const Slot message = deliveries_[delivery].message;
                report_verification(message, entries(delivery), reason);
                free_delivery(delivery);
                finish(message);
                continue;
            }
            if (const Slot message = deliveries_[delivery].message; count_by_policy(delivery, reason)) { // tells, too
                finish(message);
                refresh(turn);
                count_delayed_tries(turn);
                continue;
            }
            report_first_try(delivery, entries(delivery), reason);
            finish(deliveries_[delivery].message);
        }
        return_untried(delivery, failed && first ? End::back : End::front);
    }
    // The first of them is the next connection's first: it may need one that others can do without (TLS).
    if (!failed && turn != none && queues_[turn].in_ring && queues_[turn].link == link) l.ring = turn;
    release_connection(slot);
    if (failed && event.credentials) bounce_for_credentials(link, reason);
}

// Credentials that are refused do not become good by waiting, says the route of this mail.
void Core::bounce_for_credentials(Slot link, Reason reason) {
    if (settings_.soft_bounce) return;
    reason.status = status_as(std::move(reason.status), Severity::permanent);
    for (const Slot queue : ring_of(link))
        if (rules_[queues_[queue].rule].bounces_on_auth_failure) fail_ready(queue, reason);
}

// By a named policy the failure that its link or queue rests after now is one of the message the try was made for.
bool Core::count_by_policy(Slot slot, const Reason& reason) {
    const Delivery& d = deliveries_[slot];
    if (d.queue == none || d.suspect || !has_own_clock(d.message, d.queue) || !policy_backoff_reason(d.queue)) return false;
    count_try(slot, reason, Try::made);
    return true;
}

void Core::agent_gone(AgentId id, AgentExit how) {
    Agent* gone = agent(id);
    if (!gone) return;
    const bool alone = gone->in_flight == 1;
    for (auto& r : reservation_)
        if (r.agent == id) {
            r.agent.reset();
            r.since = now_.monotonic;
        }
    for (Slot slot = 1; slot <= connections_.top(); ++slot) {
        Connection& c = connections_[slot];
        if (c.link == none || c.agent != id) continue;
        while (!c.deliveries.empty()) {
            const Slot delivery = c.deliveries.tail;
            remove_from_connection(delivery);
            if (how == AgentExit::crashed) suspect(delivery, alone);
            return_untried(delivery, End::front);
        }
        release_connection(slot);
    }
    std::erase_if(agents_, [&](const Agent& each) { return each.id == id; });
    for (Slot slot = 1; slot <= links_.top(); ++slot)
        if (!links_[slot].name.empty() && links_[slot].offer > 0) schedule(slot);
}

// An agent tells a new queue-manager what it did for the old one.
void Core::accept_repeated(const Done& event) {
    const Slot message = find(event.id);
    if (message == none) return;
    for (const Result& each : event.results) accept_repeated_result(message, each);
    finish(message);
}

void Core::accept_repeated_result(Slot message, const Result& r) {
    if (r.outcome == Outcome::deferred) return; // it will be tried again anyway
    Message& m = messages_[message];
    Slot slot = m.first;
    std::vector<Entry> list;
    for (; slot != none; slot = deliveries_[slot].next_of_message) {
        list = entries(slot);
        if (std::ranges::count(list, r.number, &Entry::number) > 0) break;
    }
    if (slot == none || deliveries_[slot].state == DeliveryState::active)
        return; // known, or tried again already
    auto settle_it = [&] {
        if (r.outcome == Outcome::failed || r.report != SuccessReport::none) {
            const ReportKind kind = r.outcome == Outcome::failed         ? ReportKind::failed
                                    : r.report == SuccessReport::relayed ? ReportKind::relayed
                                                                         : ReportKind::delivered;
            if (kind != ReportKind::failed)
                emit(RecordOutcome{
                    spool::QueueId{m.id}, numbers_of({Entry{r.number, 0}}), Finish::delivered, {}});
            report(message, kind, r.number, false, r.reason ? *r.reason : Reason{});
        } else {
            --m.open;
            if (m.open > 0)
                emit(RecordOutcome{
                    spool::QueueId{m.id}, numbers_of({Entry{r.number, 0}}), Finish::delivered, {}});
        }
    };
    if (deliveries_[slot].state == DeliveryState::categorizing) {
        // The answer will name it: it is passed over then, and accounted for as one more.
        extras_of(message).finished.push_back(r.number);
        ++m.open;
        settle_it();
        return;
    }
    std::erase_if(list, [&](const Entry& each) { return each.number == r.number; });
    const Delivery before = deliveries_[slot];
    take_out(slot);
    if (list.empty()) {
        free_delivery(slot);
    } else {
        set_entries(slot, list);
        deliveries_[slot].due = before.due;
        place(slot, End::front);
    }
    settle_it();
}

} // namespace decide::queue
