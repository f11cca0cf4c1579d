// A delivery's life between events: where it waits, which recipients it holds, and the end of its message.
#include "daemons/decide/queue/core.h"
#include <algorithm>
#include <utility>

namespace decide::queue {

Slot Core::new_delivery(Slot message) {
    const Slot slot = deliveries_.allocate();
    Delivery& d = deliveries_[slot];
    Message& m = messages_[message];
    ++d.generation;
    d.message = message;
    d.next_of_message = m.first;
    if (m.first != none) deliveries_[m.first].prev_of_message = slot;
    d.since = seconds(now_.monotonic);
    d.due = now_.monotonic;
    m.first = slot;
    return slot;
}

void Core::free_delivery(Slot slot) {
    Delivery& d = deliveries_[slot];
    Message& m = messages_[d.message];
    (d.prev_of_message == none ? m.first : deliveries_[d.prev_of_message].next_of_message) = d.next_of_message;
    if (d.next_of_message != none) deliveries_[d.next_of_message].prev_of_message = d.prev_of_message;
    if (d.count > 1 && !d.all_recipients) recipient_lists_.release(d.number);
    if (d.queue != none) {
        Queue& q = queues_[d.queue];
        if (--q.deliveries == 0) {
            q.empty_since = std::max(now_.monotonic, q.health.due);
            arm(d.queue);
        }
    }
    const std::uint32_t generation = d.generation;
    deliveries_.release(slot);
    deliveries_[slot].generation = generation;
}

void Core::place(Slot slot, End end) {
    Delivery& d = deliveries_[slot];
    Message& m = messages_[d.message];
    if (m.held || m.with_earlier_agent) {
        d.state = DeliveryState::held;
        return;
    }
    m.scheduled = m.scheduled && m.free_from > wall_seconds();
    if (d.scheduled && !m.scheduled) d.due = std::min(d.due, now_.monotonic); // the clock may have jumped meanwhile
    d.scheduled = m.scheduled;
    if (d.scheduled) d.due = monotonic_of(smtp::WallTime(std::chrono::seconds(m.free_from)));
    if (d.due > now_.monotonic) {
        d.state = DeliveryState::waiting;
        waiting_.set(slot, d.due);
        count_waiting(d, 1);
        return;
    }
    if (d.queue == none) return await_categorizer(slot, end);
    if (d.needs_suppression_check) return check_suppressions(slot);
    if (d.suspect) {
        d.state = DeliveryState::isolated;
        isolated_[static_cast<std::size_t>(kind_of(slot))].push(deliveries_, slot, End::back);
        if (queues_[d.queue].link == none) queue_lookup(d.queue);
        return;
    }
    d.own_clock = has_own_clock(d.message, d.queue);
    if (d.own_clock)
        if (const Reason* why = policy_backoff_reason(d.queue)) return count_try(slot, *why, Try::delayed);
    d.state = DeliveryState::ready;
    Queue& q = queues_[d.queue];
    flows_.push(q.lanes, d.queue, d.problem ? problem_lane : static_cast<std::size_t>(m.lane), m.submitter,
                slot, end, now_.monotonic);
    refresh(d.queue);
    if (d.unlogged)
        if (const Reason* why = backoff_reason(d.queue)) log_suspended(slot, *why);
}

void Core::count_waiting(const Delivery& d, int by) {
    if (d.scheduled)
        scheduled_ += static_cast<std::uint64_t>(by);
    else if (d.queue == none)
        uncategorized_wait_ += static_cast<std::uint64_t>(by);
    else
        queues_[d.queue].waiting += static_cast<std::uint32_t>(by);
}

void Core::take_out(Slot slot) {
    Delivery& d = deliveries_[slot];
    switch (d.state) {
    case DeliveryState::waiting:
        waiting_.remove(slot);
        count_waiting(d, -1);
        break;
    case DeliveryState::ready:
        flows_.remove(queues_[d.queue].lanes, slot);
        refresh(d.queue);
        break;
    case DeliveryState::pending: (d.large ? pending_large_ : pending_).remove(deliveries_, slot); break;
    case DeliveryState::categorizing: leave_categorizer(slot); break;
    case DeliveryState::isolated:
        isolated_[static_cast<std::size_t>(kind_of(slot))].remove(deliveries_, slot);
        break;
    case DeliveryState::active: remove_from_connection(slot); break;
    case DeliveryState::checking: // the answer comes too late
        --checking_;
        d.needs_suppression_check = true;
        break;
    case DeliveryState::held: break;
    }
    d.state = DeliveryState::held; // nowhere
    d.own_clock = false;
}

void Core::due_now(Slot slot) {
    take_out(slot);
    if (!join(slot)) place(slot, End::back);
}

// Recipients of one message due within the same minute travel together again: this one goes along with
// another that waits, or that one comes along now if it was to leave later and has not been put off before.
// Never early.
bool Core::join(Slot slot) {
    Delivery& d = deliveries_[slot];
    const Message& m = messages_[d.message];
    const bool only = m.first == slot && d.next_of_message == none;
    if (only || d.queue == none || d.suspect || d.postponed || m.held || m.with_earlier_agent) return false;
    if (queues_[d.queue].waiting == 0) return false;
    const smtp::Monotonic mine = std::max(d.due, now_.monotonic);
    for (Slot other = m.first; other != none; other = deliveries_[other].next_of_message) {
        Delivery& o = deliveries_[other];
        if (other == slot || o.queue != d.queue || o.sender_group != d.sender_group || o.problem != d.problem)
            continue;
        if (o.suspect || o.scheduled || o.state != DeliveryState::waiting) continue;
        if (o.due - mine > std::chrono::minutes(1) || mine - o.due > std::chrono::minutes(1)) continue;
        if (o.due < mine && o.postponed) continue;
        if (o.count + d.count > settings_.recipients_per_transaction) continue;
        auto all = entries(other);
        for (const Entry& each : entries(slot)) all.push_back(each);
        set_entries(other, all);
        o.postponed = true;
        o.needs_suppression_check = o.needs_suppression_check || d.needs_suppression_check;
        o.since = std::min(o.since, d.since);
        o.message_failures = std::max(o.message_failures, d.message_failures);
        o.deaths = std::max(o.deaths, d.deaths);
        if (mine > o.due) waiting_.set(other, mine);
        free_delivery(slot);
        return true;
    }
    return false;
}

std::vector<Entry> Core::entries(Slot slot) const {
    const Delivery& d = deliveries_[slot];
    if (d.all_recipients) {
        std::vector<Entry> all(d.count);
        for (std::uint32_t n = 0; n < d.count; ++n) all[n].number = n;
        return all;
    }
    if (d.count > 1) return recipient_lists_[d.number];
    return {Entry{d.number, d.failures, d.key}};
}

void Core::set_entries(Slot slot, const std::vector<Entry>& list) {
    Delivery& d = deliveries_[slot];
    assert(!list.empty());
    if (d.count > 1 && !d.all_recipients) recipient_lists_.release(d.number);
    d.all_recipients = false;
    d.count = static_cast<std::uint32_t>(list.size());
    d.failures = 0;
    for (const Entry& each : list) d.failures = std::max(d.failures, each.failures);
    if (list.size() == 1) {
        d.number = list.front().number;
        d.key = list.front().key;
    } else {
        d.number = recipient_lists_.allocate();
        recipient_lists_[d.number] = list;
    }
}

Numbers Core::numbers_of(Slot slot) {
    const Delivery& d = deliveries_[slot];
    if (d.count > 1) return numbers_of(entries(slot));
    const auto first = static_cast<std::uint32_t>(out_->numbers.size());
    out_->numbers.push_back(d.number);
    return Numbers{first, 1};
}

Numbers Core::numbers_of(const std::vector<Entry>& list) {
    const auto first = static_cast<std::uint32_t>(out_->numbers.size());
    for (const Entry& each : list) out_->numbers.push_back(each.number);
    return Numbers{first, static_cast<std::uint32_t>(list.size())};
}

MessageExtras& Core::extras_of(Slot message) {
    Message& m = messages_[message];
    if (m.extras == none) m.extras = extras_.allocate();
    return extras_[m.extras];
}

void Core::finish(Slot slot) {
    Message& m = messages_[slot];
    if (m.open == 0 && m.first == none && m.extras != none) {
        // A notice of delay nobody was asked to write yet is overtaken.
        std::erase_if(extras_[m.extras].reports,
                      [](const PendingReport& due) { return due.kind == ReportKind::delayed && due.request == 0; });
    }
    const bool reports = m.extras != none && !extras_[m.extras].reports.empty();
    if (m.extras != none && !reports && extras_[m.extras].restored.empty() &&
        extras_[m.extras].finished.empty() && extras_[m.extras].undecided.empty()) {
        drop_reports(slot);
        extras_.release(std::exchange(m.extras, none));
    }
    if (m.open == 0 && m.first == none && !reports) {
        emit(Remove{spool::QueueId{m.id}, m.location});
        erase(slot);
        return;
    }
    if (reports) plan_reports(slot);
}

void Core::erase(Slot slot) {
    Message& m = messages_[slot];
    while (m.first != none) {
        take_out(m.first);
        free_delivery(m.first);
    }
    unwatch(slot);
    drop_reports(slot);
    if (m.extras != none) extras_.release(m.extras);
    if (m.held) --held_;
    messages_by_id_.erase(m.id);
    messages_.release(slot);
}

} // namespace decide::queue
