#include "daemons/decide/queue/inspection/message_listing.h"
#include "daemons/decide/queue/inspection/wait_reasons.h"
#include "daemons/decide/queue/tables/reasons.h"
#include <algorithm>
#include <limits>
#include <tuple>

namespace decide::queue::inspection {

namespace {

MessageInfo info(const View& view, Slot slot, const RecipientRange& range = {}) {
    const Message& m = view.messages[slot];
    MessageInfo out;
    out.id = spool::QueueId{m.id};
    out.location = m.location;
    out.size = m.size;
    out.arrival = smtp::WallTime(smtp::Duration(m.arrival));
    out.expiry = smtp::WallTime(std::chrono::seconds(view.ages.expires(m)));
    out.lane = m.lane;
    out.held = m.held;
    out.active = m.active > 0 || m.with_earlier_agent;
    for (Slot each = m.first; each != none; each = view.deliveries[each].next_of_message) {
        if (each != m.first && !is_for(view, each, range)) continue;
        const Delivery& d = view.deliveries[each];
        DeliveryInfo info;
        info.waiting = waiting(view, d);
        info.failures = d.failures;
        info.problem = d.problem;
        if (!d.all_recipients)
            for (const Entry& entry : view.deliveries.entries(each)) info.recipients.push_back(entry.number);
        smtp::Monotonic next{};
        if (d.state == DeliveryState::waiting) next = d.due;
        if (d.queue != none) {
            const Queue& q = view.queues[d.queue];
            info.queue = q.name;
            if (q.link != none) info.link = view.links[q.link].name;
            if (info.waiting == Waiting::route) next = q.route == RouteState::failed ? q.route_until : next;
            if (info.waiting == Waiting::queue) next = q.health.due;
            if (info.waiting == Waiting::link) next = view.links[q.link].health.due;
            info.reason = reason_of(view.deliveries, view.links, view.queues, d);
            info.since = failing_since(view, d);
            if (info.waiting == Waiting::paused) {
                info.paused_by = pause_of(view, q);
                next = {};
            }
        }
        info.waiting_for = waiting_for(view, d);
        if (next != smtp::Monotonic{}) info.next_attempt = view.step.nearest_second(next);
        if (info.waiting == Waiting::scheduled) info.next_attempt = smtp::WallTime(std::chrono::seconds(m.free_from));
        if (d.queue == none) {
            for (const CategorizerDeferral& group : view.deliveries.undecided(d)) {
                out.deliveries.push_back(info);
                out.deliveries.back().recipients = group.numbers;
                out.deliveries.back().reason = group.reason;
            }
            if (!view.deliveries.undecided(d).empty()) continue;
        }
        out.deliveries.push_back(std::move(info));
    }
    if (m.extras == none) return out;
    const MessageExtras& extra = view.messages.extras[m.extras];
    for (const PendingReport& due : extra.reports) {
        if (due.kind == ReportKind::delayed || !range.contains(due.recipient.number)) continue;
        DeliveryInfo info;
        info.waiting = Waiting::report;
        info.recipients = {due.recipient.number};
        info.reason = due.recipient.reason;
        info.waiting_for = report_wait_text(view, extra);
        if (extra.report_deferred && view.services.bounce)
            info.next_attempt = view.step.nearest_second(extra.report_at);
        out.deliveries.push_back(std::move(info));
    }
    return out;
}

// Given its own retry schedule and the health of its queue and link; nothing: not before an operator acts.
std::optional<smtp::Monotonic> next_try(const View& view, const Delivery& d) {
    if (d.state == DeliveryState::held) return {};
    if (d.queue == none) return d.due;
    const Queue& q = view.queues[d.queue];
    const Link* l = q.link == none ? nullptr : &view.links[q.link];
    if (q.is_paused() || (l && l->paused)) return {};
    smtp::Monotonic due = d.due;
    if (q.health.health != Health::ready) due = std::max(due, q.health.due);
    if (l && l->health.health != Health::ready) due = std::max(due, l->health.due);
    return due;
}

std::optional<smtp::Monotonic> next_try(const View& view, const Message& m) {
    std::optional<smtp::Monotonic> soonest;
    for (Slot each = m.first; each != none; each = view.deliveries[each].next_of_message)
        if (const auto due = next_try(view, view.deliveries[each])) soonest = std::min(soonest.value_or(*due), *due);
    return soonest;
}

Rank rank(const View& view, const Message& m, Order order) {
    switch (order) {
    case Order::oldest: return {0, m.id};
    case Order::newest: return {-static_cast<std::int64_t>(m.id), m.id};
    case Order::largest: return {-static_cast<std::int64_t>(std::min<std::uint64_t>(m.size, INT64_MAX)), m.id};
    case Order::next: break;
    }
    const auto due = next_try(view, m);
    return {due ? due->time_since_epoch().count() : std::numeric_limits<std::int64_t>::max(), m.id};
}

} // namespace

std::optional<MessageInfo> message(const View& view, spool::QueueId id, const RecipientRange& range) {
    const Slot slot = view.messages.find(id);
    if (slot == none) return std::nullopt;
    return info(view, slot, range);
}

std::optional<MessageInfo> next_message(const View& view, std::uint32_t& cursor) {
    while (cursor < view.messages.top()) {
        const Slot slot = ++cursor;
        if (view.messages[slot].id != 0) return info(view, slot);
    }
    cursor = 0;
    return std::nullopt;
}

std::optional<MessageInfo> oldest(const View& view) {
    const Slot slot = view.messages.oldest();
    if (slot == none) return std::nullopt;
    return info(view, slot);
}

std::vector<MessageInfo> due_next(const View& view, std::size_t at_most) {
    // A heap, the latest on top. Ties go by id.
    std::vector<std::tuple<smtp::Monotonic, std::uint64_t, Slot>> first;
    for (Slot slot = 1; slot <= view.messages.top(); ++slot) {
        const Message& m = view.messages[slot];
        const auto due = next_try(view, m);
        if (!due) continue;
        first.emplace_back(*due, m.id, slot);
        std::ranges::push_heap(first);
        if (first.size() <= at_most) continue;
        std::ranges::pop_heap(first);
        first.pop_back();
    }
    std::ranges::sort_heap(first);
    std::vector<MessageInfo> out;
    for (const auto& [due, id, slot] : first) out.push_back(info(view, slot));
    return out;
}

std::optional<Rank> rank(const View& view, spool::QueueId id, Order order) {
    const Slot slot = view.messages.find(id);
    return slot == none ? std::nullopt : std::optional(rank(view, view.messages[slot], order));
}

std::vector<Rank> ranked(const View& view, Order order, const std::optional<Rank>& behind, std::size_t at_most) {
    std::vector<Rank> first; // a heap, the last on top
    for (Slot slot = 1; slot <= view.messages.top(); ++slot) {
        const Message& m = view.messages[slot];
        if (m.id == 0) continue;
        const auto its = rank(view, m, order);
        if ((behind && its <= *behind) || (first.size() == at_most && its >= first.front())) continue;
        if (first.size() == at_most) {
            std::ranges::pop_heap(first);
            first.pop_back();
        }
        first.push_back(its);
        std::ranges::push_heap(first);
    }
    std::ranges::sort_heap(first);
    return first;
}

} // namespace decide::queue::inspection
