// Time passing over messages, whatever their queues do: leaving incoming/, the notice of delay, expiry.
// A message is looked at within a step of each of its moments. Nothing expires without a try since
// its last wait of our own doing.
#include "daemons/decide/queue/core.h"
#include <algorithm>

namespace decide::queue {

namespace {

constexpr std::uint32_t look_again = 5; // steps: overdue, but to be tried first

std::uint32_t whole_seconds(smtp::Duration d) {
    return static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(d).count());
}

} // namespace

// A minute keeps the times to watch few; less where the settings' own times are short.
std::uint32_t Core::sweep_step() const {
    auto shortest = std::min(settings_.expiry, settings_.report_expiry);
    if (settings_.delay_notice.count() > 0) shortest = std::min(shortest, settings_.delay_notice);
    return std::clamp(whole_seconds(shortest / 60), 1u, 60u);
}

std::uint32_t Core::expires(const Message& m) const {
    if (m.expiry_fixed) return m.expiry;
    const std::uint32_t from = settings_.soft_bounce ? std::max(m.free_from, wall_seconds()) : m.free_from;
    return from + std::min(m.expiry, 0xffffffff - from);
}

void Core::leave_incoming(Slot slot) {
    Message& m = messages_[slot];
    if (!m.young) return;
    young_.remove(messages_, slot);
    m.young = false;
    m.bucket = 0;
    m.location = spool::Location::messages;
    emit(MoveToMessages{spool::QueueId{m.id}});
    write_policy(slot);
    watch(slot);
}

void Core::watch(Slot slot) {
    Message& m = messages_[slot];
    if (m.young) return;
    unwatch(slot);
    if (m.held || m.with_earlier_agent) return;
    const std::uint32_t now = wall_seconds(), step = sweep_step();
    std::uint32_t at = expires(m);
    if (!m.delay_notified && !m.null_sender && settings_.delay_notice.count() > 0) {
        const std::uint32_t notice = m.free_from + whole_seconds(settings_.delay_notice);
        at = std::min(at, notice > now ? notice : now + look_again * step);
    }
    m.bucket = at > now ? (at / step + 1) * step : now + look_again * step;
    watched_[m.bucket].push(messages_, slot, End::back);
}

void Core::unwatch(Slot slot) {
    Message& m = messages_[slot];
    if (m.young) {
        young_.remove(messages_, slot);
        m.young = false;
    } else if (m.bucket != 0) {
        const auto at = watched_.find(m.bucket);
        at->second.remove(messages_, slot);
        if (at->second.empty()) watched_.erase(at);
    }
    m.bucket = 0;
}

// The glitch that one message's failure costs its queue says nothing of the others.
bool Core::affects_whole_queue(const Queue& q) {
    return q.health.health == Health::retry || (q.health.health == Health::glitch && q.policy_failed);
}

// Is it a failure, not our own doing, that keeps it waiting, and was it tried since our own doing last did?
bool Core::expirable(const Delivery& d) const {
    if (paused_ || d.scheduled) return false;
    Seconds tried = d.tried, mark = std::max(last_wait_end_, d.since);
    const bool alone = d.state == DeliveryState::isolated; // an agent has died with it
    bool failing = d.state == DeliveryState::waiting || alone;
    if (d.queue != none) {
        const Queue& q = queues_[d.queue];
        if (q.is_paused()) return false;
        mark = std::max(mark, q.last_wait_end);
        tried = std::max(tried, q.route_failed_at);
        if (affects_whole_queue(q)) tried = std::max(tried, q.health.last_failure);
        failing = failing || affects_whole_queue(q) || q.route == RouteState::failed;
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

Reason Core::reason_of(const Delivery& d) const {
    if (d.queue == none) {
        const auto& groups = undecided(d);
        return groups.empty() ? Reason{} : groups.front().reason;
    }
    const Queue& q = queues_[d.queue];
    if (unroutable(q)) return q.route_reason;
    if (q.link != none && links_[q.link].health.health != Health::ready)
        return links_[q.link].health.last_error;
    if (q.health.health != Health::ready) return q.health.last_error;
    if (d.state == DeliveryState::isolated)
        return {"4.3.0", "a delivery agent crashed with this message in flight; it waits for its own agent", "", ""};
    return {};
}

void Core::expire(Slot message, const std::vector<Entry>& list, const Reason& reason) {
    emit(NoticeExpired{spool::QueueId{messages_[message].id}});
    for (const Entry& each : list) report(message, ReportKind::failed, each.number, true, reason);
}

void Core::sweep(Slot slot) {
    Message& m = messages_[slot];
    const std::uint32_t now = wall_seconds();
    if (expires(m) <= now) {
        for (Slot each = m.first; each != none;) {
            const Slot next = deliveries_[each].next_of_message;
            cancel_expired(each);
            if (expirable(deliveries_[each])) {
                expire(slot, entries(each), reason_of(deliveries_[each]));
                take_out(each);
                free_delivery(each);
            }
            each = next;
        }
    } else if (!m.delay_notified && !m.null_sender && settings_.delay_notice.count() > 0 &&
               m.free_from + whole_seconds(settings_.delay_notice) <= now) {
        for (Slot each = m.first; each != none; each = deliveries_[each].next_of_message) {
            const bool unsorted =
                deliveries_[each].queue == none && deliveries_[each].state == DeliveryState::waiting;
            if (!expirable(deliveries_[each]) && !unsorted) continue;
            m.delay_notified = true;
            for (const Entry& entry : entries(each))
                report(slot, ReportKind::delayed, entry.number, false, reason_of(deliveries_[each]));
        }
    }
    watch(slot);
    finish(slot);
}

} // namespace decide::queue
