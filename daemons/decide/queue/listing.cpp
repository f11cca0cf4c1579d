// What can be seen from outside: copies of the state, with the first thing that keeps each delivery waiting.
#include "daemons/decide/queue/core.h"
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <tuple>

namespace decide::queue {

Waiting Core::waiting(const Delivery& d) const {
    if (messages_[d.message].with_earlier_agent) return Waiting::active;
    switch (d.state) {
    case DeliveryState::pending:
    case DeliveryState::categorizing: return Waiting::categorizer;
    case DeliveryState::active: return Waiting::active;
    case DeliveryState::held: return Waiting::held;
    case DeliveryState::waiting:
        if (d.scheduled) return Waiting::scheduled;
        break;
    case DeliveryState::ready:
    case DeliveryState::isolated:
    case DeliveryState::checking: break;
    }
    if (d.queue == none) return Waiting::own_time;
    const Queue& q = queues_[d.queue];
    if (paused_ || q.is_paused() || (q.link != none && links_[q.link].paused)) return Waiting::paused;
    if (d.state == DeliveryState::waiting) return Waiting::own_time;
    if (q.link == none) return Waiting::route;
    if (links_[q.link].health.health != Health::ready) return Waiting::link;
    if (q.health.health != Health::ready) return Waiting::queue;
    return d.state == DeliveryState::isolated ? Waiting::suspect : Waiting::connection;
}

std::optional<PausedObject> Core::pause_of(const Queue& q) const {
    if (paused_) return PausedObject{};
    if (q.paused) return PausedObject{Scope::queue, q.name};
    if (q.pool_paused) return PausedObject{Scope::pool, pools_[q.source_pool]};
    if (q.link != none && links_[q.link].paused) return PausedObject{Scope::link, links_[q.link].name};
    return {};
}

MessageInfo Core::info(Slot slot, smtp::Now) const {
    const Message& m = messages_[slot];
    MessageInfo out;
    out.id = spool::QueueId{m.id};
    out.location = m.location;
    out.size = m.size;
    out.arrival = smtp::WallTime(smtp::Duration(m.arrival));
    out.expiry = smtp::WallTime(std::chrono::seconds(expires(m)));
    out.lane = m.lane;
    out.held = m.held;
    out.active = m.active > 0 || m.with_earlier_agent;
    for (Slot each = m.first; each != none; each = deliveries_[each].next_of_message) {
        const Delivery& d = deliveries_[each];
        DeliveryInfo info;
        info.waiting = waiting(d);
        info.failures = d.failures;
        info.problem = d.problem;
        if (!d.all_recipients)
            for (const Entry& entry : entries(each)) info.recipients.push_back(entry.number);
        smtp::Monotonic next{};
        if (d.state == DeliveryState::waiting) next = d.due;
        if (d.queue != none) {
            const Queue& q = queues_[d.queue];
            info.queue = q.name;
            if (q.link != none) info.link = links_[q.link].name;
            if (info.waiting == Waiting::route) next = q.route == RouteState::failed ? q.route_until : next;
            if (info.waiting == Waiting::queue) next = q.health.due;
            if (info.waiting == Waiting::link) next = links_[q.link].health.due;
            info.reason = reason_of(d);
            info.since = failing_since(d);
            if (info.waiting == Waiting::paused) {
                info.paused_by = pause_of(q);
                next = {};
            }
        }
        info.waiting_for = waiting_for(d);
        if (next != smtp::Monotonic{}) info.next_attempt = wall_of(next);
        if (d.queue == none) {
            for (const CategorizerDeferral& group : undecided(d)) {
                out.deliveries.push_back(info);
                out.deliveries.back().recipients = group.numbers;
                out.deliveries.back().reason = group.reason;
            }
            if (!undecided(d).empty()) continue;
        }
        out.deliveries.push_back(std::move(info));
    }
    if (m.extras == none) return out;
    for (const PendingReport& due : extras_[m.extras].reports) {
        if (due.kind == ReportKind::delayed) continue;
        DeliveryInfo info;
        info.waiting = Waiting::report;
        info.recipients = {due.recipient.number};
        info.reason = due.recipient.reason;
        info.waiting_for = report_wait_text(extras_[m.extras]);
        if (extras_[m.extras].report_deferred && bounce_up_) info.next_attempt = wall_of(extras_[m.extras].report_at);
        out.deliveries.push_back(std::move(info));
    }
    return out;
}

std::optional<MessageInfo> Core::message(spool::QueueId id, smtp::Now now) const {
    const Slot slot = find(id);
    if (slot == none) return std::nullopt;
    return info(slot, now);
}

std::optional<MessageInfo> Core::next_message(std::uint32_t& cursor, smtp::Now now) const {
    while (cursor < messages_.top()) {
        const Slot slot = ++cursor;
        if (messages_[slot].id != 0) return info(slot, now);
    }
    cursor = 0;
    return std::nullopt;
}

std::map<Slot, Core::Times> Core::times_by_queue() const {
    std::map<Slot, Times> out;
    for (Slot slot = 1; slot <= deliveries_.top(); ++slot) {
        const Delivery& d = deliveries_[slot];
        if (d.message == none || d.queue == none) continue;
        Times& times = out.try_emplace(d.queue, Times{std::numeric_limits<std::int64_t>::max(), {}, 0}).first->second;
        times.arrival = std::min(times.arrival, messages_[d.message].arrival);
        times.problem += d.problem;
        if (d.state != DeliveryState::waiting || d.scheduled) continue;
        if (times.next == smtp::Monotonic{} || d.due < times.next) times.next = d.due;
    }
    return out;
}

// Its own health is good; that of its domains may not be (TLS that one of them needs, say).
std::string Core::idle_reason(const Link& l, const QueueBackoffs& resting) const {
    if (l.in_flight > 0 || l.opening > 0) return "";
    if (paused_) return "everything is paused";
    if (l.paused) return "the link is paused";
    if (l.health.health != Health::ready)
        return l.health.probing                ? ""
               : resting.due == 0 && !l.down   ? "nothing is due"
                                               : "it failed; the next attempt is not due yet";
    if (l.offer == 0 && resting.queue)
        return fmt::format("queue {}{} is backing off: {}", resting.queue->name,
                           resting.queues > 1 ? fmt::format(" (and {} more)", resting.queues - 1) : "",
                           resting.queue->health.last_error.text);
    if (l.offer == 0 && resting.stops()) return fmt::format("queue {} is paused", resting.stopped->name);
    if (l.offer == 0)
        return l.down                ? "it is down and is probed without mail"
               : resting.waiting > 0 ? "no waiting message is due yet"
                                     : "nothing is due";
    if (now_.monotonic < l.next_message) return "its rate limit is reached for now";
    if (l.wants_connection)
        return open_ >= settings_.connections_total ? "other links use all of queue.connections_total"
                                                    : "no delivery agent has a free connection";
    if (at_address_limit(l)) return address_limit_text(l);
    if (now_.monotonic < l.not_before) return "the peer asked for fewer connections";
    return "";
}

std::string Core::idle_reason(const Queue& q) const {
    if (q.active > 0) return "";
    if (paused_) return "everything is paused";
    if (q.paused) return "the queue is paused";
    if (q.pool_paused) return "its pool is paused";
    if (q.lanes.count == 0) return q.waiting > 0 ? "no waiting message is due yet" : "nothing is due";
    if (q.link == none) return route_wait_text(q);
    if (q.health.health != Health::ready)
        return q.health.probing ? "" : "it failed; the next attempt is not due yet";
    QueueBackoffs here;
    here.due = q.lanes.count;
    const std::string of_link = idle_reason(links_[q.link], here);
    return of_link.empty() ? "other queues of the link are served first" : "its link: " + of_link;
}

std::vector<LinkInfo> Core::links(smtp::Now, Ages ages) const {
    std::vector<LinkInfo> out;
    std::map<Slot, LinkInfo> sums; // what its queues come to
    std::map<Slot, QueueBackoffs> resting;
    std::map<Slot, std::uint32_t> most_waiting; // of its queues: in the one that tells the reason
    const auto times = ages == Ages::yes ? times_by_queue() : std::map<Slot, Times>{};
    for (Slot slot = 1; slot <= queues_.top(); ++slot) {
        const Queue& q = queues_[slot];
        if (q.name.empty() || q.link == none) continue;
        LinkInfo& sum = sums[q.link];
        sum.deliveries += q.deliveries;
        sum.due += q.lanes.count;
        QueueBackoffs& rest = resting[q.link];
        if (!q.is_paused()) rest.due += q.lanes.count; // else it is not tried by itself
        if (!q.is_paused()) rest.waiting += q.waiting;
        sum.waiting += q.waiting;
        if (q.waiting > most_waiting[q.link] && !q.last_wait.text.empty()) {
            most_waiting[q.link] = q.waiting;
            sum.last_deferral = q.last_wait;
        }
        if (q.is_paused() && q.lanes.count + q.waiting > 0) rest.stopped = &q;
        if (!q.is_paused() && q.health.health != Health::ready && q.lanes.count + q.waiting > 0) {
            ++rest.queues;
            if (!rest.queue || q.health.due < rest.queue->health.due) rest.queue = &q;
        }
        if (const auto its = times.find(slot); its != times.end()) {
            const smtp::WallTime arrival{smtp::Duration(its->second.arrival)};
            sum.oldest = sum.oldest == smtp::WallTime{} ? arrival : std::min(sum.oldest, arrival);
            const auto next = its->second.next;
            if (!q.is_paused() && next != smtp::Monotonic{} && (rest.next == smtp::Monotonic{} || next < rest.next))
                rest.next = next;
        }
    }
    for (Slot slot = 1; slot <= links_.top(); ++slot) {
        const Link& l = links_[slot];
        if (l.name.empty()) continue;
        LinkInfo info = std::move(sums[slot]);
        info.name = l.name;
        info.pool = pools_[l.pool];
        info.mx = l.mx;
        info.local = l.kind == AgentKind::local;
        info.paused = paused_ || l.paused;
        info.down = l.down;
        info.health = l.health.health;
        info.failures = l.health.failures;
        const bool stopped = paused_ || l.paused;
        const QueueBackoffs rest = resting[slot];
        if (stopped) info.paused_by = paused_ ? PausedObject{} : PausedObject{Scope::link, l.name};
        if (!stopped && l.offer == 0 && !rest.queue && rest.stops()) info.paused_by = pause_of(*rest.stopped);
        const auto next = l.health.health != Health::ready ? (rest.due > 0 || l.down ? l.health.due : rest.next)
                          : l.offer == 0 && rest.queue     ? rest.queue->health.due
                          : l.offer == 0                   ? rest.next
                                                           : smtp::Monotonic{};
        if (!stopped && next != smtp::Monotonic{}) info.next_attempt = wall_of(next);
        info.failing_since = l.health.failing_since;
        info.last_error = l.health.last_error;
        info.connections = l.open();
        info.window = l.window.size();
        info.limit = l.window.limit();
        info.queues = l.queues;
        info.in_flight = l.in_flight;
        info.offer = l.offer;
        info.transaction = l.transaction;
        info.idle_reason = idle_reason(l, rest);
        info.at_address_limit = at_address_limit(l);
        info.addresses = addresses_of(slot);
        out.push_back(std::move(info));
    }
    return out;
}

std::vector<LinkFailure> Core::failures_of(std::string_view link) const {
    const auto known = links_by_name_.find(link);
    return known == links_by_name_.end() ? std::vector<LinkFailure>{} : links_[known->second].history;
}

bool Core::knows(Scope scope, std::string_view name) const {
    switch (scope) {
    case Scope::everything: return true;
    case Scope::link: return links_by_name_.contains(name);
    case Scope::queue: return queues_by_name_.contains(name);
    case Scope::pool: return !name.empty() && std::ranges::find(pools_, name) != pools_.end();
    }
    return false;
}

std::vector<QueueInfo> Core::queues(smtp::Now, Ages ages) const {
    std::vector<QueueInfo> out;
    const auto times = ages == Ages::yes ? times_by_queue() : std::map<Slot, Times>{};
    for (Slot slot = 1; slot <= queues_.top(); ++slot) {
        const Queue& q = queues_[slot];
        if (q.name.empty()) continue;
        QueueInfo info;
        info.name = q.name;
        info.pool = pools_[q.source_pool];
        if (q.link != none) info.link = links_[q.link].name;
        info.paused = paused_ || q.is_paused();
        info.routed = q.link != none;
        info.health = q.health.health;
        info.failures = q.health.failures;
        info.last_error = q.health.last_error;
        info.failing_since = q.health.failing_since;
        info.paused_by = pause_of(q);
        if (q.health.health != Health::ready && q.lanes.count > 0) info.next_attempt = wall_of(q.health.due);
        if (const Link* l = q.link == none ? nullptr : &links_[q.link]; l && l->health.health != Health::ready) {
            info.of_link = true;
            info.health = l->health.health;
            info.failures = l->health.failures;
            info.failing_since = l->health.failing_since;
            info.last_error = l->health.last_error;
            const auto next = q.health.health == Health::ready ? l->health.due : std::max(l->health.due, q.health.due);
            if (q.lanes.count > 0) info.next_attempt = wall_of(next);
        }
        if (unroutable(q)) {
            info.failures = q.route_failures;
            info.failing_since = q.route_failing_since;
            info.last_error = q.route_reason;
            info.next_attempt = q.route == RouteState::failed ? wall_of(q.route_until) : smtp::WallTime{};
        }
        info.deliveries = q.deliveries;
        info.due = q.lanes.count;
        info.in_flight = q.active;
        info.problem = q.lanes.lane[problem_lane].count;
        if (const auto its = times.find(slot); its != times.end()) {
            info.oldest = smtp::WallTime(smtp::Duration(its->second.arrival));
            info.problem = its->second.problem;
            if (q.lanes.count == 0 && its->second.next != smtp::Monotonic{}) info.next_attempt = wall_of(its->second.next);
        }
        if (info.paused_by) info.next_attempt = {};
        info.idle_reason = idle_reason(q);
        out.push_back(std::move(info));
    }
    return out;
}

std::optional<MessageInfo> Core::oldest(smtp::Now now) const {
    if (oldest_id_ == 0 || messages_[oldest_].id != oldest_id_) {
        oldest_id_ = 0;
        std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
        for (Slot slot = 1; slot <= messages_.top(); ++slot) {
            if (messages_[slot].id == 0 || messages_[slot].arrival >= earliest) continue;
            earliest = messages_[slot].arrival;
            oldest_ = slot;
            oldest_id_ = messages_[slot].id;
        }
    }
    if (oldest_id_ == 0) return std::nullopt;
    return info(oldest_, now);
}

// As far as its own ladder and the health of what it waits for say; nothing: not before an operator says so.
std::optional<smtp::Monotonic> Core::next_try(const Delivery& d) const {
    if (d.state == DeliveryState::held) return {};
    if (d.queue == none) return d.due;
    const Queue& q = queues_[d.queue];
    const Link* l = q.link == none ? nullptr : &links_[q.link];
    if (q.is_paused() || (l && l->paused)) return {};
    smtp::Monotonic due = d.due;
    if (q.health.health != Health::ready) due = std::max(due, q.health.due);
    if (l && l->health.health != Health::ready) due = std::max(due, l->health.due);
    return due;
}

std::optional<smtp::Monotonic> Core::next_try(const Message& m) const {
    std::optional<smtp::Monotonic> soonest;
    for (Slot each = m.first; each != none; each = deliveries_[each].next_of_message)
        if (const auto due = next_try(deliveries_[each])) soonest = std::min(soonest.value_or(*due), *due);
    return soonest;
}

std::vector<MessageInfo> Core::due_next(std::size_t at_most, smtp::Now now) const {
    // A heap, the latest on top. Ties go by id.
    std::vector<std::tuple<smtp::Monotonic, std::uint64_t, Slot>> first;
    for (Slot slot = 1; slot <= messages_.top(); ++slot) {
        const Message& m = messages_[slot];
        const auto due = next_try(m);
        if (!due) continue;
        first.emplace_back(*due, m.id, slot);
        std::ranges::push_heap(first);
        if (first.size() <= at_most) continue;
        std::ranges::pop_heap(first);
        first.pop_back();
    }
    std::ranges::sort_heap(first);
    std::vector<MessageInfo> out;
    for (const auto& [due, id, slot] : first) out.push_back(info(slot, now));
    return out;
}

std::optional<Rank> Core::rank(spool::QueueId id, Order order) const {
    const Slot slot = find(id);
    return slot == none ? std::nullopt : std::optional(rank(messages_[slot], order));
}

Rank Core::rank(const Message& m, Order order) const {
    switch (order) {
    case Order::oldest: return {0, m.id};
    case Order::newest: return {-static_cast<std::int64_t>(m.id), m.id};
    case Order::largest: return {-static_cast<std::int64_t>(std::min<std::uint64_t>(m.size, INT64_MAX)), m.id};
    case Order::next: break;
    }
    const auto due = next_try(m);
    return {due ? due->time_since_epoch().count() : std::numeric_limits<std::int64_t>::max(), m.id};
}

std::vector<Rank> Core::ranked(Order order, const std::optional<Rank>& behind, std::size_t at_most) const {
    std::vector<Rank> first; // a heap, the last on top
    for (Slot slot = 1; slot <= messages_.top(); ++slot) {
        const Message& m = messages_[slot];
        if (m.id == 0) continue;
        const auto its = rank(m, order);
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

Counts Core::counts() const {
    Counts out;
    out.messages = messages_.count();
    out.deliveries = deliveries_.count();
    out.uncategorized = pending_.count + pending_large_.count + categorizing_.count;
    out.waiting = waiting_.slots().size();
    out.held = held_;
    out.reports = reports_due_.size() + requested_reports_.size();
    out.links = links_by_name_.size();
    out.queues = queues_by_name_.size();
    out.connections = open_;
    out.scheduled = scheduled_;
    out.retrying = uncategorized_wait_;
    out.free = isolated_[0].count + isolated_[1].count + checking_;
    for (Slot slot = 1; slot <= queues_.top(); ++slot) {
        const Queue& q = queues_[slot];
        if (q.name.empty()) continue;
        out.due += q.lanes.count;
        out.unlogged += q.lanes.unlogged;
        out.active += q.active;
        const Link* l = q.link == none ? nullptr : &links_[q.link];
        if (paused_ || q.is_paused() || (l && l->paused)) {
            out.paused += q.lanes.count + q.waiting;
            continue;
        }
        out.retrying += q.waiting;
        const bool failing = q.health.health != Health::ready || (l && l->health.health != Health::ready);
        (!l ? out.routing : failing ? out.retrying : out.free) += q.lanes.count;
    }
    return out;
}

std::size_t Core::bytes() const {
    return messages_.bytes() + deliveries_.bytes() + recipient_lists_.bytes() + extras_.bytes() + queues_.bytes() +
           links_.bytes() + connections_.bytes() + messages_by_id_.bytes() + flows_.bytes() +
           waiting_.bytes();
}

} // namespace decide::queue
