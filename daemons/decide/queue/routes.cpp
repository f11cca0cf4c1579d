// Queues and the links they go over: looking up, moving, forgetting; and each one's share of its link's
// turns.
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/queue/core.h"
#include <algorithm>
#include <limits>

namespace decide::queue {

namespace {
constexpr std::uint32_t max_lookups = 10'000; // asked of the router at a time
constexpr std::uint32_t max_repeats = 1'000;  // of these, after a failure: what does not answer leaves room for what may
}

std::uint16_t Core::pool_of(std::string_view name) {
    const auto known = std::ranges::find(pools_, name);
    if (known == pools_.end()) {
        if (pools_.size() > 0xffff) return 0;
        pools_.emplace_back(name);
        return static_cast<std::uint16_t>(pools_.size() - 1);
    }
    return static_cast<std::uint16_t>(known - pools_.begin());
}

std::string Core::queue_name(std::string_view domain, std::string_view pool) {
    return pool.empty() ? std::string(domain) : std::string(domain) + "@" + std::string(pool);
}

std::vector<Slot> Core::queues_of(std::string_view domain) const {
    std::vector<Slot> out;
    for (const std::string& pool : pools_)
        if (const auto known = queues_by_name_.find(queue_name(domain, pool)); known != queues_by_name_.end())
            out.push_back(known->second);
    return out;
}

void Core::set_pool(Queue& queue, std::uint16_t pool) {
    queue.source_pool = pool;
    queue.pool_paused = pool != 0 && paused_pools_.contains(pools_[pool]);
}

Slot Core::queue_for(std::string_view destination, Fate fate, std::uint16_t pool) {
    const bool store = fate == Fate::local;
    std::string key;
    if (store)
        key = std::string(store_prefix) + std::string(destination);
    else if (pool != 0)
        key = queue_name(destination, pools_[pool]);
    if (const auto known = queues_by_name_.find(key.empty() ? destination : std::string_view(key));
        known != queues_by_name_.end())
        return known->second;
    if (key.empty()) key = std::string(destination);
    const Slot slot = queues_.allocate();
    Queue& q = queues_[slot];
    q.name = key;
    q.pool = store ? 0 : pool;
    q.domain_length = static_cast<std::uint16_t>(store ? key.size() : destination.size());
    q.paused = paused_queues_.contains(key);
    set_pool(q, q.pool);
    q.per_user = store && destination.find('/') != destination.npos;
    q.empty_since = now_.monotonic;
    if (const auto known = snapshot_queues_.extract(key)) restore_health(q.health, known.mapped());
    if (const auto known = snapshot_routes_.extract(key)) { // looked up at once: it may be for this that we were restarted
        q.route_failures = known.mapped().failures;
        q.route_failing_since = known.mapped().failing_since;
        q.route_reason = known.mapped().last_error;
    }
    queues_by_name_.emplace(key, slot);
    if (store) {
        q.route = RouteState::store;
        attach(slot, link_for(std::string_view(key).substr(0, key.find('/')), AgentKind::local, false));
    }
    return slot;
}

std::uint32_t Core::limit_of(const Link& link) const {
    if (link.limit > 0) return link.limit;
    return link.mx ? settings_.connections_mx : settings_.connections_route;
}

Slot Core::link_for(std::string_view name, AgentKind kind, bool mx) {
    if (const auto known = links_by_name_.find(name); known != links_by_name_.end()) return known->second;
    const Slot slot = links_.allocate();
    Link& l = links_[slot];
    l.name = std::string(name);
    l.pool = pool_of(pool_of_link(l.name));
    l.kind = kind;
    l.mx = mx;
    l.paused = paused_links_.contains(l.name);
    if (kind == AgentKind::local)
        l.window = Window(settings_.connections_local, settings_.connections_local);
    else
        l.window = Window(mx ? settings_.window_start : settings_.window_start_route, limit_of(l));
    links_by_name_.emplace(l.name, slot);
    if (const auto known = snapshot_links_.extract(l.name)) {
        const HealthSnapshot& r = known.mapped();
        restore_health(l.health, r);
        l.window.failed();
        if (r.retry_since != smtp::WallTime{})
            l.retry_since = std::min(now_.monotonic, std::max(start_, monotonic_of(r.retry_since)));
        l.down = r.down && !mx;
        l.history = r.history;
        if (l.down && router_up_) emit(LinkState{l.name, true});
        schedule(slot);
    }
    return slot;
}

void Core::attach(Slot queue, Slot link) {
    queues_[queue].link = link;
    ++links_[link].queues;
    join_terms(queues_[queue]);
}

void Core::detach(Slot queue) {
    Queue& q = queues_[queue];
    if (q.link == none) return;
    const Slot link = q.link;
    leave_terms(q);
    settle_terms(link);
    q.link = none;
    Link& l = links_[link];
    l.offer -= q.offer;
    q.offer = 0;
    if (q.in_ring) {
        if (q.ring_next == queue) {
            l.ring = none;
        } else {
            queues_[q.ring_prev].ring_next = q.ring_next;
            queues_[q.ring_next].ring_prev = q.ring_prev;
            if (l.ring == queue) l.ring = q.ring_next;
        }
        q.in_ring = false;
    }
    --l.queues;
    check_unused(link);
}

void Core::schedule(Slot link) {
    if (link == none || links_[link].needs_scheduling) return;
    links_[link].needs_scheduling = true;
    links_to_schedule_.push_back(link);
}

bool Core::routable(Slot queue) {
    Queue& q = queues_[queue];
    if (q.route == RouteState::store) return true;
    if (q.link == none) {
        if (q.lanes.count > 0) queue_lookup(queue);
        return false;
    }
    // Out of date: ask, and go on by what is known until the answer comes.
    if (q.route == RouteState::known && now_.monotonic >= q.route_until && q.lanes.count > 0)
        queue_lookup(queue);
    return true;
}

std::uint32_t Core::capacity_of(const Queue& q) const {
    if (!q.per_user) return std::numeric_limits<std::uint32_t>::max();
    return settings_.connections_per_user - std::min(q.active, settings_.connections_per_user);
}

void Core::refresh(Slot queue) {
    Queue& q = queues_[queue];
    std::uint32_t offer = 0;
    if (routable(queue) && !q.is_paused() && q.lanes.count > 0) {
        if (q.health.health == Health::ready) {
            offer = std::min(q.lanes.count, capacity_of(q));
        } else if (!q.health.probing) {
            if (now_.monotonic >= q.health.due)
                offer = 1;
            else
                queue_timers_.bring_forward(queue, q.health.due);
        }
    }
    if (q.link == none) return;
    Link& l = links_[q.link];
    if (offer > q.offer) schedule(q.link);
    l.offer += offer;
    l.offer -= q.offer;
    q.offer = offer;
    if ((offer > 0) == q.in_ring) return;
    if (offer > 0) {
        q.in_ring = true;
        if (l.ring == none) {
            q.ring_prev = q.ring_next = queue;
            l.ring = queue;
        } else {
            Queue& turn = queues_[l.ring];
            q.ring_next = l.ring;
            q.ring_prev = turn.ring_prev;
            queues_[turn.ring_prev].ring_next = queue;
            turn.ring_prev = queue;
        }
        return;
    }
    q.in_ring = false;
    if (q.ring_next == queue) {
        l.ring = none;
        return;
    }
    queues_[q.ring_prev].ring_next = q.ring_next;
    queues_[q.ring_next].ring_prev = q.ring_prev;
    if (l.ring == queue) l.ring = q.ring_next;
}

void Core::queue_lookup(Slot queue) {
    Queue& q = queues_[queue];
    if (q.lookup_queued || q.route == RouteState::requested || q.route == RouteState::store) return;
    if (q.route == RouteState::failed && now_.monotonic < q.route_until) {
        queue_timers_.bring_forward(queue, q.route_until);
        return;
    }
    q.lookup_queued = true;
    if (q.route == RouteState::impossible && now_.monotonic < q.route_until)
        pending_lookups_.push_front(queue); // nothing to ask
    else
        (q.route_failures > 0 ? repeated_lookups_ : pending_lookups_).push_back(queue);
}

void Core::request_route(Slot queue) {
    Queue& q = queues_[queue];
    q.lookup_queued = false;
    q.route = RouteState::requested;
    q.repeated_lookup = q.route_failures > 0;
    ++lookups_;
    repeats_ += q.repeated_lookup;
    emit(AskRoute{q.domain(), pools_[q.pool]});
}

// Called as an event ends: deliveries of a domain that cannot receive mail end here, not inside another's
// step. Who was never looked up, or last with success, comes before those that failed.
void Core::pump_routes() {
    while (!pending_lookups_.empty()) {
        const Slot queue = pending_lookups_.front();
        Queue& q = queues_[queue];
        if (q.route == RouteState::impossible && now_.monotonic < q.route_until) {
            pending_lookups_.pop_front();
            q.lookup_queued = false;
            fail_ready(queue, q.route_reason);
            continue;
        }
        if (!router_up_ || lookups_ >= max_lookups) break;
        pending_lookups_.pop_front();
        request_route(queue);
    }
    while (!repeated_lookups_.empty() && router_up_ && lookups_ < max_lookups && repeats_ < max_repeats) {
        const Slot queue = repeated_lookups_.front();
        repeated_lookups_.pop_front();
        request_route(queue);
    }
}

void Core::routed(const Routed& event) {
    for (const Slot queue : queues_of(event.domain))
        if (queues_[queue].route == RouteState::requested && pools_[queues_[queue].pool] == event.pool)
            routed(queue, event);
}

void Core::routed(Slot queue, const Routed& event) {
    Queue& q = queues_[queue];
    --lookups_;
    repeats_ -= std::exchange(q.repeated_lookup, false);
    const Slot before = q.link;
    const bool found = event.kind != RouteKind::temporary;
    q.route_reason = event.reason ? *event.reason : Reason{};
    q.route_until = now_.monotonic + std::max(event.valid, smtp::Duration(std::chrono::seconds(1)));
    switch (event.kind) {
    case RouteKind::mx:
    case RouteKind::configured: {
        q.route = RouteState::known;
        q.route_failures = 0;
        const Slot link = link_for(event.link, AgentKind::smtp, event.kind == RouteKind::mx);
        if (before != none) leave_terms(q);
        q.rule = rule_of(event.rule);
        q.auth = auth_of(event.auth);
        q.connections = event.connections;
        if (before != none) join_terms(q);
        q.secure = event.secure;
        set_pool(q, links_[link].pool);
        if (link != before) {
            detach(queue);
            attach(queue, link);
            if (before == none) log_queue_suspended(queue);
        }
        apply_route_policy(queue);
        break;
    }
    case RouteKind::temporary:
        detach(queue);
        q.route = RouteState::failed;
        if (++q.route_failures == 1) q.route_failing_since = now_.wall;
        q.route_failed_at = seconds(now_.monotonic);
        q.route_until =
            after(doubling(settings_.routing_retry, settings_.routing_retry_max, q.route_failures));
        arm(queue);
        emit(NoticeQueue{q.name, Health::retry, q.route_failures, 4000, wall_of(q.route_until),
                         &q.route_reason});
        for (std::size_t lane = 0; lane < q.lanes.lane.size(); ++lane)
            if (const Slot front = flows_.front(q.lanes, lane); front != none)
                log_undelivered(front, Outcome::deferred, q.route_reason);
        log_queue_suspended(queue);
        count_delayed_tries(queue);
        break;
    case RouteKind::permanent:
        detach(queue);
        q.route = RouteState::impossible;
        q.route_failures = 0;
        fail_ready(queue, q.route_reason);
        break;
    }
    route_reset(queue, found, q.link != before);
    refresh(queue);
    if (found) count_delayed_tries(queue);
}

// Its domain cannot receive mail: everything that is due fails; what waits on a ladder of its own follows
// when due.
void Core::fail_ready(Slot queue, const Reason& why) {
    const Reason reason = why; // it may be the queue's own
    auto fail = [&](Slot slot) {
        const Slot message = deliveries_[slot].message;
        log_undelivered(slot, Outcome::failed, reason);
        for (const Entry& each : entries(slot))
            report(message, ReportKind::failed, each.number, false, reason);
        free_delivery(slot);
        finish(message);
    };
    while (queues_[queue].lanes.count > 0) fail(flows_.take(queues_[queue].lanes, settings_, now_.monotonic));
    auto& alone = isolated_[static_cast<std::size_t>(AgentKind::smtp)];
    for (Slot slot = alone.head; slot != none;) {
        const Slot next = deliveries_[slot].next;
        if (deliveries_[slot].queue == queue) {
            alone.remove(deliveries_, slot);
            fail(slot);
        }
        slot = next;
    }
}

std::vector<Slot> Core::ring_of(Slot link) const {
    std::vector<Slot> out;
    Slot queue = links_[link].ring;
    if (queue != none) do {
            out.push_back(queue);
            queue = queues_[queue].ring_next;
        } while (queue != links_[link].ring);
    return out;
}

void Core::log_undelivered(Slot slot, Outcome outcome, const Reason& reason) {
    mark_logged(slot);
    const Delivery& d = deliveries_[slot];
    const Queue& q = queues_[d.queue];
    const auto why = static_cast<std::uint32_t>(out_->reasons.size());
    out_->reasons.push_back(reason);
    emit(NoticeUndelivered{spool::QueueId{messages_[d.message].id}, numbers_of(slot), outcome, q.name, why});
}

// When is the queue's next own moment?
void Core::arm(Slot queue) {
    const Queue& q = queues_[queue];
    if (q.route == RouteState::failed && q.deliveries > 0) queue_timers_.bring_forward(queue, q.route_until);
    if (q.health.health != Health::ready && !q.health.probing && q.lanes.count > 0)
        queue_timers_.bring_forward(queue, std::max(q.health.due, now_.monotonic));
    if (q.deliveries == 0) queue_timers_.bring_forward(queue, q.empty_since + settings_.forget_after);
}

void Core::queue_timer(Slot queue) {
    queue_timers_.remove(queue);
    Queue& q = queues_[queue];
    const bool old = q.deliveries == 0 && now_.monotonic - q.empty_since >= settings_.forget_after;
    if (old && !q.lookup_queued && q.route != RouteState::requested && !q.resetting) {
        detach(queue);
        forgotten_.emplace_back(q.domain());
        queues_by_name_.erase(q.name);
        queues_.release(queue);
        if (queues_of(forgotten_.back()).empty()) emit(DomainForgotten{forgotten_.back()});
        return;
    }
    if (q.deliveries == 0) {
        queue_timers_.set(queue, std::max(q.empty_since, now_.monotonic) + settings_.forget_after);
        return;
    }
    refresh(queue);
    if (q.route == RouteState::failed && !isolated_[0].empty()) queue_lookup(queue); // may be for a suspect
}

// It may be needed again soon, and what is known of its health with it.
void Core::check_unused(Slot link) {
    Link& l = links_[link];
    if (l.queues > 0 || !l.connections.empty()) return;
    if (l.down) return schedule(link); // it is probed
    l.empty_since = std::max(now_.monotonic, l.health.due);
    link_timers_.bring_forward(link, l.empty_since + settings_.forget_after);
}

void Core::link_timer(Slot link) {
    link_timers_.remove(link);
    Link& l = links_[link];
    recall_stalled(link);
    if (may_go_down(l)) {
        if (now_.monotonic - l.retry_since >= settings_.link_down_after)
            mark_down(link);
        else
            link_timers_.bring_forward(link, l.retry_since + settings_.link_down_after);
    }
    if (l.queues > 0 || !l.connections.empty() || l.down)
        schedule(link);
    else if (now_.monotonic - l.empty_since >= settings_.forget_after)
        forget_link(link);
    else
        link_timers_.set(link, l.empty_since + settings_.forget_after);
}

void Core::forget_link(Slot link) {
    Link& l = links_[link];
    if (l.needs_scheduling || l.wants_connection) { // it is still in a list; next time
        link_timers_.set(link, now_.monotonic + settings_.forget_after);
        return;
    }
    emit(LinkForgotten{{}});
    leave_waiting_lines(link);
    forgotten_.push_back(l.name);
    std::get<LinkForgotten>(out_->list.back()).link = forgotten_.back();
    links_by_name_.erase(l.name);
    links_.release(link);
}

} // namespace decide::queue
