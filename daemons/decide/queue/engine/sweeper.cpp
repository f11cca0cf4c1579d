#include "daemons/decide/queue/engine/sweeper.h"
#include "daemons/decide/queue/tables/reasons.h"
#include <algorithm>

namespace decide::queue {

namespace {
constexpr auto cancel_after = std::chrono::minutes(10); // an expired delivery in flight for this long
}

bool Sweeper::expirable(const Delivery& d) const {
    if (messages_[d.message].returned_late) return d.state != DeliveryState::active;
    if (gates_.everything || d.scheduled) return false;
    Seconds tried = d.tried, mark = std::max(gates_.last_wait_end, d.since);
    const bool alone = d.state == DeliveryState::isolated; // an agent has died with it
    bool failing = d.state == DeliveryState::waiting || alone;
    if (d.queue != none) {
        const Queue& q = queues_[d.queue];
        if (q.is_paused()) return false;
        mark = std::max(mark, q.last_wait_end);
        tried = std::max(tried, q.route_failed_at);
        if (q.fails_as_a_whole()) tried = std::max(tried, q.health.last_failure);
        failing = failing || q.fails_as_a_whole() || q.route == RouteState::failed;
        if (q.link != none) {
            const Link& l = links_[q.link];
            if (l.paused) return false;
            mark = std::max(mark, l.last_wait_end);
            tried = std::max(tried, l.health.last_failure);
            failing = failing || l.health.health != Health::ready;
        }
    }
    const bool due = d.state == DeliveryState::waiting || d.state == DeliveryState::ready || alone;
    return due && failing && tried >= mark;
}

void Sweeper::sweep(Slot slot) {
    Message& m = messages_[slot];
    const std::uint32_t now = step_.wall_seconds();
    if (ages_.expires(m) <= now) {
        for (Slot each = m.first; each != none;) {
            const Slot next = deliveries_[each].next_of_message;
            cancel_expired(each);
            if (expirable(deliveries_[each])) {
                reporter_.expire(deliveries_[each], deliveries_.entries(each), reason_for_expiry(each));
                placement_.take_out(each);
                placement_.remove(each);
            }
            each = next;
        }
    } else if (ages_.owes_delay_notice(m) && ages_.delay_notice_at(m) <= now) {
        m.delay_notified = notify_of_delay(slot);
    }
    ages_.watch(slot);
    placement_.finish(slot);
}

// Of the deliveries that wait after a failed try. Those that are being tried follow when they have failed. True: there
// are no more.
bool Sweeper::notify_of_delay(Slot message) {
    bool all = messages_[message].first != none;
    for (Slot each = messages_[message].first; each != none; each = deliveries_[each].next_of_message) {
        Delivery& d = deliveries_[each];
        if (d.delay_notified) continue;
        const bool unsorted = d.queue == none && d.state == DeliveryState::waiting;
        const bool late = messages_[message].notifies_late && d.state != DeliveryState::active;
        if (!late && !expirable(d) && !unsorted) {
            all = false;
            continue;
        }
        d.delay_notified = true;
        for (const Entry& entry : deliveries_.entries(each))
            reporter_.report(message, ReportKind::delayed, entry.number, false,
                             reason_of(deliveries_, links_, queues_, d));
    }
    return all;
}

// Of one that has not failed, it is the time that its sender has set.
Reason Sweeper::reason_for_expiry(Slot slot) const {
    const Delivery& d = deliveries_[slot];
    auto reason = reason_of(deliveries_, links_, queues_, d);
    if (reason.status.empty() && d.tried == 0 && messages_[d.message].returned_late)
        reason = {"4.4.7", "not delivered within the time that the sender has set (BY)", "", ""};
    return reason;
}

void Sweeper::cancel_expired(Slot slot) {
    const Delivery& d = deliveries_[slot];
    if (d.state == DeliveryState::active && step_.now() - d.due >= cancel_after) connections_.cancel(slot);
}

void Sweeper::clock_stepped(smtp::Duration by) {
    placement_.reschedule();
    if (by > smtp::Duration{}) {
        gates_.last_wait_end = step_.seconds(step_.now()) + 1; // nothing expires before it was tried again
        return;
    }
    const auto before = std::chrono::floor<std::chrono::seconds>((step_.wall() - by).time_since_epoch()).count();
    for (Slot slot = 1; slot <= messages_.top(); ++slot) {
        Message& m = messages_[slot];
        if (m.id == 0) continue;
        m.scheduled = m.scheduled && m.free_from > before; // its time may have passed while it was held
        if (m.young || m.scheduled) continue;
        m.free_from = std::min(m.free_from, step_.wall_seconds());
        ages_.watch(slot);
    }
}

} // namespace decide::queue
