// What agents report, sorted by whose failure it is: recipient, message, queue, link. Nothing is counted
// against mail for what is our own doing: connections closed, agents stopped.
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
    if (c.probe && c.deliveries.empty()) link_succeeded(c.link); // its message was taken away: this must do
    settle(slot);
    dirty(c.link);
}

void Core::take_back(Slot slot) {
    Delivery& d = deliveries_[slot];
    Connection& c = connections_[d.holder];
    Queue& q = queues_[d.queue];
    c.deliveries.remove(deliveries_, slot);
    --links_[c.link].in_flight;
    --q.active;
    --messages_[d.message].active;
    --agent(c.agent)->in_flight;
    d.holder = none;
    d.state = DeliveryState::held; // nowhere
    if (q.health.health != Health::ready && d.round == q.health.round) q.health.probing = false;
}

void Core::untried(Slot slot, End end) {
    deliveries_[slot].due = now_.monotonic;
    place(slot, end);
    refresh(deliveries_[slot].queue);
}

// The quickest recent transaction tells what the peer needs; ours slow each other down when they are many. It
// may rise to twice the value every two seconds.
void Core::measured(Slot connection, Slot delivery) {
    Connection& c = connections_[connection];
    Link& l = links_[c.link];
    const auto sample =
        std::max(now_.monotonic - std::max(c.last_done, deliveries_[delivery].due), smtp::Duration(1));
    c.last_done = l.last_progress = now_.monotonic;
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

void Core::done(const Done& event) {
    const Slot slot = static_cast<Slot>(event.delivery);
    const bool known = slot != none && slot <= deliveries_.top() &&
                       deliveries_[slot].generation == static_cast<std::uint32_t>(event.delivery >> 32) &&
                       deliveries_[slot].state == DeliveryState::active && deliveries_[slot].message != none;
    if (!known) {
        repeated(event);
        return;
    }
    const Slot connection = deliveries_[slot].holder;
    const Slot link = connections_[connection].link;
    measured(connection, slot);
    take_back(slot);
    outcomes(slot, link, connection, event);
    settle(connection);
    dirty(link);
}

void Core::outcomes(Slot slot, Slot link, Slot connection, const Done& event) {
    Delivery& d = deliveries_[slot];
    const Slot message = d.message, queue = d.queue;
    Message& m = messages_[message];
    Queue& q = queues_[queue];
    // The ordinary case, short.
    if (d.count == 1 && event.results.size() == 1 && event.results[0].number == d.number &&
        event.results[0].outcome == Outcome::delivered && event.results[0].report == SuccessReport::none) {
        link_succeeded(link);
        q.last_delivered = now_.monotonic;
        queue_succeeded(queue);
        --m.open;
        if (m.open > 0) emit(RecordOutcome{spool::QueueId{m.id}, numbers_of(slot), Finish::delivered, {}});
        free_delivery(slot);
        finish(message);
        return;
    }

    std::vector<Entry> left = entries(slot), delivered, by_message;
    std::vector<Entry> back; // not tried after all
    std::vector<std::pair<Entry, const Reason*>> by_recipient;
    static const Reason unknown;
    const Reason* message_reason = nullptr;
    const Reason* policy_reason = nullptr;
    const Reason* connection_reason = nullptr;
    bool answered = false; // the session got as far as a verdict on message or recipients
    PushBack pushed = PushBack::no;
    std::vector<std::uint32_t> failed;
    for (const Result& r : event.results) {
        const auto at = std::ranges::find(left, r.number, &Entry::number);
        if (at == left.end()) continue;
        const Entry entry = *at;
        left.erase(at);
        const Reason* why = r.reason ? r.reason : &unknown;
        const bool verdict = r.outcome == Outcome::delivered || r.kind == FailureKind::message ||
                             r.kind == FailureKind::recipient;
        answered = answered || verdict;
        if (r.push_back == PushBack::yes) pushed = PushBack::yes;
        if (r.outcome == Outcome::delivered) {
            if (r.report == SuccessReport::none)
                delivered.push_back(entry);
            else
                report(message,
                       r.report == SuccessReport::relayed ? ReportKind::relayed : ReportKind::delivered,
                       r.number, false, *why);
        } else if (r.outcome == Outcome::failed) {
            report(message, ReportKind::failed, r.number, false, *why);
        } else if (r.kind == FailureKind::recipient) {
            by_recipient.emplace_back(entry, why);
        } else if (r.kind == FailureKind::message) {
            by_message.push_back(entry);
            message_reason = why;
        } else {
            back.push_back(entry);
            (r.kind == FailureKind::policy ? policy_reason : connection_reason) = why;
        }
    }
    back.insert(back.end(), left.begin(), left.end());

    // The link.
    Link& l = links_[link];
    const std::uint64_t dropped_before = l.dropped_message;
    if (event.dropped && message_reason && dropped_before != 0 && dropped_before != m.id) {
        l.dropped_message = 0;
        l.last_useful.reset(); // two messages in a row: what was useful before says nothing
        link_failed(link, connection, PushBack::no, Phase::session, *message_reason);
    } else if (answered) {
        link_succeeded(link);
        if (event.dropped && message_reason) l.dropped_message = m.id;
    } else if (connection_reason) {
        link_failed(link, connection, pushed, Phase::session, *connection_reason);
    }
    if (pushed == PushBack::yes && answered) push_back(link, l.up > 1 ? l.up - 1 : 1);

    // The queue, and with it the message's own next try.
    const Delivery like = d;
    smtp::Monotonic message_due{};
    if (!delivered.empty()) q.last_delivered = now_.monotonic;
    if (answered && !message_reason) queue_succeeded(queue);
    if (message_reason) message_due = message_failed(queue, like, *message_reason);
    if (policy_reason && like.round == q.health.round) queue_failed(queue, *policy_reason);

    // Recipients.
    m.open -= static_cast<std::uint32_t>(delivered.size());
    if (!delivered.empty() && (m.open > 0 || (m.extra != none && !extras_[m.extra].reports.empty())))
        emit(RecordOutcome{spool::QueueId{m.id}, numbers_of(delivered), Finish::delivered, {}});
    Slot spare = slot;
    if (!by_message.empty()) {
        Delivery then = like;
        then.suspect = false;
        then.message_failures = static_cast<std::uint8_t>(std::min(like.message_failures + 1, 255));
        if (settings_.failures_before_problem != 0 &&
            then.message_failures >= settings_.failures_before_problem)
            then.problem = true;
        for (Entry& each : by_message)
            each.failures = static_cast<std::uint16_t>(std::min(each.failures + 1, 0xffff));
        wait_again(message, then, spare, by_message, message_due, *message_reason);
        if (!then.problem && q.health.health != Health::ready && q.health.due == message_due) {
            q.head = slot;
            q.head_generation = deliveries_[slot].generation;
        }
    }
    // Those that climbed equally high wait together.
    while (!by_recipient.empty()) {
        const std::uint16_t failures = by_recipient.front().first.failures;
        const Reason* why = by_recipient.front().second;
        std::vector<Entry> group;
        std::erase_if(by_recipient, [&](const auto& each) {
            if (each.first.failures != failures || *each.second != *why) return false;
            group.push_back(
                Entry{each.first.number, static_cast<std::uint16_t>(std::min(failures + 1, 0xffff))});
            return true;
        });
        Delivery then = like;
        then.suspect = false;
        const auto wait =
            q.route == RouteState::store ? settings_.local_retry : rung(settings_, failures + 1u);
        wait_again(message, then, spare, group, after(wait), *why);
    }
    if (!back.empty()) {
        const Slot again = spare != none ? std::exchange(spare, none) : new_delivery(message);
        Delivery& a = deliveries_[again];
        if (again != slot) {
            const std::uint32_t generation = a.generation;
            const Slot next = a.next_of_message;
            a = like;
            a.generation = generation;
            a.next_of_message = next;
            a.count = 1;
            a.prev = a.next = none;
            ++queues_[queue].deliveries;
        }
        set_entries(again, back);
        untried(again, connection_reason ? End::back : End::front);
    }
    if (spare != none) free_delivery(spare);
    refresh(queue);
    finish(message);
}

void Core::wait_again(Slot message, const Delivery& like, Slot& spare, const std::vector<Entry>& list,
                      smtp::Monotonic due, const Reason& reason) {
    Message& m = messages_[message];
    if (!m.held && expires(m) <= wall_seconds()) {
        expire(message, list, reason);
        return;
    }
    const Slot slot = spare != none ? std::exchange(spare, none) : new_delivery(message);
    Delivery& d = deliveries_[slot];
    if (d.queue == none) ++queues_[like.queue].deliveries;
    d.queue = like.queue;
    d.sender_group = like.sender_group;
    d.message_failures = like.message_failures;
    d.deaths = like.deaths;
    d.problem = like.problem;
    d.suspect = like.suspect;
    d.since = like.since;
    d.tried = seconds(now_.monotonic);
    d.due = due;
    set_entries(slot, list);
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

void Core::closed(const Closed& event) {
    const Slot slot = connection_of(event.connection);
    if (slot == none) return;
    Connection& c = connections_[slot];
    const Slot link = c.link;
    Link& l = links_[link];
    const bool nothing_done = c.completed == 0;
    bool failed = event.failed && nothing_done;
    Reason reason = event.reason ? *event.reason : Reason{};
    if (!event.failed && nothing_done && !c.deliveries.empty() && c.state != ConnectionState::closing &&
        ++l.polite_ends >= 3) {
        failed = true; // a peer that is polite for ever would keep us busy for ever
        reason =
            Reason{"4.4.2", "the connection was closed again and again before anything was sent", "", ""};
    }
    if (failed)
        link_failed(link, slot, event.push_back, event.was_up ? Phase::session : event.phase, reason);
    else if (event.push_back == PushBack::yes)
        push_back(link, l.up > 1 ? l.up - 1 : 1);
    // Back where they came from; but a failed try's message goes last, so that the next one takes another.
    while (!c.deliveries.empty()) {
        const Slot delivery = c.deliveries.tail;
        const bool first = c.deliveries.count == 1;
        take_back(delivery);
        untried(delivery, failed && first ? End::back : End::front);
    }
    release_connection(slot);
}

void Core::agent_gone(AgentId id, Departure how) {
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
            take_back(delivery);
            if (how == Departure::crashed) suspect(delivery, alone);
            untried(delivery, End::front);
        }
        release_connection(slot);
    }
    std::erase_if(agents_, [&](const Agent& each) { return each.id == id; });
    for (Slot slot = 1; slot <= links_.top(); ++slot)
        if (!links_[slot].name.empty() && links_[slot].offer > 0) dirty(slot);
}

// An agent tells a new queue-manager what it did for the old one.
void Core::repeated(const Done& event) {
    const Slot message = find(event.id);
    if (message == none) return;
    for (const Result& each : event.results) one_repeated(message, each);
    finish(message);
}

void Core::one_repeated(Slot message, const Result& r) {
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
            report(message, kind, r.number, false, r.reason ? *r.reason : Reason{});
        } else {
            --m.open;
            if (m.open > 0)
                emit(RecordOutcome{
                    spool::QueueId{m.id}, numbers_of({Entry{r.number, 0}}), Finish::delivered, {}});
        }
    };
    if (deliveries_[slot].state == DeliveryState::asked) {
        // The answer will name it: it is passed over then, and accounted for as one more.
        extra_of(message).finished.push_back(r.number);
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
