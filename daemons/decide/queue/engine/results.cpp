#include "daemons/decide/queue/engine/results.h"
#include "daemons/decide/outcome/failure.h"
#include <algorithm>
#include <utility>

namespace decide::queue {

void Results::connected(ConnectionId id) {
    const Slot slot = connections_.find(id);
    if (slot == none || connections_[slot].state != ConnectionState::opening) return;
    Connection& c = connections_[slot];
    Link& l = links_[c.link];
    --l.opening;
    ++l.up;
    c.state = ConnectionState::up;
    c.last_done = step_.now();
    l.last_progress = step_.now();
    if (c.probe && c.deliveries.empty()) {
        health_.probe_succeeded(c.link); // a probe without mail, or its message was taken away: this is success enough
        connections_.close(slot);
    }
    connections_.idle_or_close(slot);
    links_.schedule(c.link);
}

// The quickest recent transaction shows what the peer needs; our own transactions slow each other down when there are
// many. The value may double every two seconds.
void Results::record_transaction_time(Slot connection, Slot delivery) {
    Connection& c = connections_[connection];
    Link& l = links_[c.link];
    const auto sample = std::max(step_.now() - std::max(c.last_done, deliveries_[delivery].due), smtp::Duration(1));
    c.last_done = l.last_progress = step_.now();
    c.stalled = false;
    ++c.completed;
    if (l.transaction.count() == 0) {
        l.transaction = sample;
    } else if (sample < l.transaction) {
        l.transaction -= (l.transaction - sample) / 4;
    } else if (step_.now() - l.transaction_raised >= std::chrono::seconds(2)) {
        l.transaction = std::min(sample, 2 * l.transaction);
        l.transaction_raised = step_.now();
    }
}

void Results::done(const Done& event) {
    const Slot slot = deliveries_.find(event.delivery, DeliveryState::active);
    if (slot == none) {
        accept_repeated(event);
        return;
    }
    const Slot connection = deliveries_[slot].holder;
    const Slot link = connections_[connection].link;
    record_transaction_time(connection, slot);
    connections_.remove_delivery(slot);
    outcomes_.process(slot, link, connection, event);
    connections_.idle_or_close(connection);
    links_.schedule(link);
}

void Results::closed(const Closed& event) {
    const Slot slot = connections_.find(event.connection);
    if (slot == none) return;
    Connection& c = connections_[slot];
    const Slot link = c.link;
    Link& l = links_[link];
    const bool nothing_done = c.completed == 0;
    bool failed = event.failed && nothing_done;
    Reason reason = event.reason ? *event.reason : Reason{};
    if (event.at_address_limit) {
        addresses_.reached_limit(link); // its message was not tried
    } else if (!event.failed && nothing_done && !c.deliveries.empty() && c.state != ConnectionState::closing &&
               ++l.orderly_closes >= 3) {
        failed = true; // a peer that keeps closing politely would keep us busy for ever
        reason = Reason{"4.4.2", "the connection was closed several times in a row before anything was sent", "", ""};
    }
    // A failed requirement of one route is not a failure of a link that serves others, too.
    const bool of_queue = failed && event.policy && l.terms.size() > 1 && !c.deliveries.empty();
    if (of_queue) {
        const Delivery& tried = deliveries_[c.deliveries.head];
        if (tried.round == queues_[tried.queue].health.round)
            health_.queue_failed(tried.queue, reason); // else it is counted already
    } else if (failed) {
        health_.link_failed(link, slot, event.push_back, event.was_up ? Phase::session : event.phase, reason);
    } else if (event.push_back == PushBack::yes) {
        health_.push_back(link, l.up > 1 ? l.up - 1 : 1);
    }
    const Slot turn = take_back(slot, failed, reason);
    // The first of them goes first on the next connection: it may need one that others can do without (TLS).
    if (!failed && turn != none && queues_[turn].in_ring && queues_[turn].link == link) l.ring = turn;
    connections_.release(slot);
    if (failed && event.credentials) bounce_for_credentials(link, reason);
}

// Its deliveries go back where they came from; but the message of a failed try goes last, so that the next try takes
// another one. Returns the queue of the first of them; none: there was none.
Slot Results::take_back(Slot connection, bool failed, const Reason& reason) {
    Connection& c = connections_[connection];
    Slot queue = none;
    while (!c.deliveries.empty()) {
        const Slot delivery = c.deliveries.tail;
        const bool tried = failed && c.deliveries.count == 1;
        queue = deliveries_[delivery].queue;
        connections_.remove_delivery(delivery);
        if (tried && accounted_for(delivery, reason)) continue;
        placement_.return_untried(delivery, tried ? End::back : End::front);
    }
    return queue;
}

// The connection failed while it was being tried. False: it must wait for its next try.
bool Results::accounted_for(Slot delivery, const Reason& reason) {
    const Slot message = deliveries_[delivery].message, queue = deliveries_[delivery].queue;
    if (messages_[message].trace == Trace::verify) {
        reporter_.report_verification(message, deliveries_.entries(delivery), reason);
        placement_.remove(delivery);
        placement_.finish(message);
        return true;
    }
    if (outcomes_.count_by_policy(delivery, reason)) { // reports the first try, too
        placement_.finish(message);
        scheduler_.refresh(queue);
        placement_.count_delayed_tries(queue);
        return true;
    }
    reporter_.report_first_try(delivery, deliveries_.entries(delivery), reason);
    placement_.finish(message);
    return false;
}

// According to the route of this mail, rejected credentials do not become valid by waiting.
void Results::bounce_for_credentials(Slot link, Reason reason) {
    if (settings_.soft_bounce) return;
    reason.status = status_as(std::move(reason.status), Severity::permanent);
    for (const Slot queue : scheduler_.ring_of(link))
        if (terms_.rule(queues_[queue].rule).bounces_on_auth_failure) placement_.fail_ready(queue, reason);
}

void Results::returned(const Returned& event) {
    const Slot slot = connections_.find(event.connection);
    if (slot == none) return;
    const Slot link = connections_[slot].link;
    for (auto id = event.deliveries.rbegin(); id != event.deliveries.rend(); ++id) { // the first ends up in front again
        const Slot delivery = deliveries_.find(*id, DeliveryState::active);
        if (delivery == none || deliveries_[delivery].holder != slot) continue;
        --connections_[slot].handed;
        const Slot message = deliveries_[delivery].message;
        const bool expired =
            deliveries_[delivery].cancelled && ages_.expires(messages_[message]) <= step_.wall_seconds();
        connections_.remove_delivery(delivery);
        if (expired && !messages_[message].held) {
            reporter_.expire(deliveries_[delivery], deliveries_.entries(delivery),
                             {"4.4.7", "its delivery took too long and was ended", "", ""});
            scheduler_.refresh(deliveries_[delivery].queue);
            placement_.remove(delivery);
            placement_.finish(message);
        } else {
            placement_.return_untried(delivery, End::front);
        }
    }
    connections_.idle_or_close(slot);
    links_.schedule(link);
}

void Results::agent_gone(AgentId id, AgentExit how) {
    Agent* gone = connections_.agent(id);
    if (!gone) return;
    const bool alone = gone->in_flight == 1;
    for (Slot slot = 1; slot <= connections_.top(); ++slot) {
        Connection& c = connections_[slot];
        if (c.link == none || c.agent != id) continue;
        while (!c.deliveries.empty()) {
            const Slot delivery = c.deliveries.tail;
            connections_.remove_delivery(delivery);
            if (how == AgentExit::crashed) suspect(delivery, alone);
            placement_.return_untried(delivery, End::front);
        }
        connections_.release(slot);
    }
    connections_.detach_agent(id);
    for (Slot slot = 1; slot <= links_.top(); ++slot)
        if (!links_[slot].name.empty() && links_[slot].offer > 0) links_.schedule(slot);
}

// An agent crashed with it in flight.
void Results::suspect(Slot slot, bool was_alone) {
    Delivery& d = deliveries_[slot];
    Message& m = messages_[d.message];
    d.suspect = true;
    d.tried = step_.seconds(step_.now());
    if (was_alone && d.deaths < 255) ++d.deaths;
    ages_.leave_incoming(d.message);
    step_.emit(RecordSuspect{spool::QueueId{m.id}, deliveries_.numbers_of(slot), d.deaths});
    if (!was_alone || d.deaths < settings_.deaths_before_hold || m.held) return;
    messages_.set_held(m, true);
    ages_.unwatch(d.message);
    placement_.held_changed(d.message);
    step_.emit(RecordHeld{spool::QueueId{m.id}, d.deaths});
}

// An agent reports to a new queue-manager what it did for the old one.
void Results::accept_repeated(const Done& event) {
    const Slot message = messages_.find(event.id);
    if (message == none) return;
    for (const Result& each : event.results) accept_repeated_result(message, each);
    placement_.finish(message);
}

void Results::accept_repeated_result(Slot message, const Result& r) {
    if (r.outcome == Outcome::deferred) return; // it will be tried again anyway
    Message& m = messages_[message];
    Slot slot = m.first;
    std::vector<Entry> list;
    for (; slot != none; slot = deliveries_[slot].next_of_message) {
        list = deliveries_.entries(slot);
        if (std::ranges::count(list, r.number, &Entry::number) > 0) break;
    }
    if (slot == none || deliveries_[slot].state == DeliveryState::active) return; // known, or tried again already
    auto settle_it = [&] {
        if (r.outcome == Outcome::failed || r.report != SuccessReport::none) {
            const ReportKind kind = r.outcome == Outcome::failed         ? ReportKind::failed
                                    : r.report == SuccessReport::relayed ? ReportKind::relayed
                                                                         : ReportKind::delivered;
            if (kind != ReportKind::failed)
                step_.emit(
                    RecordOutcome{spool::QueueId{m.id}, step_.numbers({Entry{r.number, 0}}), Finish::delivered, {}});
            reporter_.report(message, kind, r.number, false, r.reason ? *r.reason : Reason{});
        } else {
            --m.open;
            if (m.open > 0)
                step_.emit(
                    RecordOutcome{spool::QueueId{m.id}, step_.numbers({Entry{r.number, 0}}), Finish::delivered, {}});
        }
    };
    if (deliveries_[slot].state == DeliveryState::categorizing) {
        // The answer will name it: it is skipped then, and counts as one more open recipient until it is settled.
        messages_.extras_of(message).finished.push_back(r.number);
        ++m.open;
        settle_it();
        return;
    }
    std::erase_if(list, [&](const Entry& each) { return each.number == r.number; });
    const Delivery before = deliveries_[slot];
    placement_.take_out(slot);
    if (list.empty()) {
        placement_.remove(slot);
    } else {
        deliveries_.set_entries(slot, list);
        deliveries_[slot].due = before.due;
        placement_.place(slot, End::front);
    }
    settle_it();
}

} // namespace decide::queue
