#include "daemons/decide/queue/engine/routes.h"
#include <algorithm>

namespace decide::queue {

void Routes::pump() {
    for (Slot queue = lookups_.pump(); queue != none; queue = lookups_.pump())
        placement_.fail_ready(queue, queues_[queue].route_reason);
}

void Routes::router_back() {
    for (Slot slot = 1; slot <= links_.top(); ++slot) {
        if (links_[slot].name.empty() || !links_[slot].down) continue;
        step_.emit(LinkState{links_[slot].name, true});
        resets_.schedule();
    }
}

void Routes::routed(const Routed& event) {
    for (const Slot queue : queues_.of_domain(event.domain))
        if (queues_[queue].route == RouteState::requested && pools_[queues_[queue].pool] == event.pool)
            routed(queue, event);
}

void Routes::routed(Slot queue, const Routed& event) {
    Queue& q = queues_[queue];
    lookups_.answered(q);
    const Slot before = q.link;
    const bool found = event.kind != RouteKind::temporary;
    q.route_reason = event.reason ? *event.reason : Reason{};
    q.route_until = step_.now() + std::max(event.valid, smtp::Duration(std::chrono::seconds(1)));
    switch (event.kind) {
    case RouteKind::mx:
    case RouteKind::configured: {
        q.route = RouteState::known;
        q.route_failures = 0;
        const Slot link = links_.find_or_add(event.link, AgentKind::smtp, event.kind == RouteKind::mx);
        if (before != none) links_.leave_terms(q);
        q.rule = terms_.rule_of(event.rule);
        q.auth = terms_.auth_of(event.auth);
        q.connections = event.connections;
        if (before != none) links_.join_terms(q);
        q.secure = event.secure;
        queues_.set_pool(q, links_[link].pool);
        if (link != before) {
            scheduler_.detach(queue);
            queues_.attach(queue, link);
            if (before == none) suspensions_.log_queue(queue);
        }
        placement_.apply_route_policy(queue);
        break;
    }
    case RouteKind::temporary:
        scheduler_.detach(queue);
        q.route = RouteState::failed;
        if (++q.route_failures == 1) q.route_failing_since = step_.wall();
        q.route_failed_at = step_.seconds(step_.now());
        q.route_until = step_.after(doubling(settings_.routing_retry, settings_.routing_retry_max, q.route_failures));
        scheduler_.arm(queue);
        step_.emit(NoticeQueue{q.name, Health::retry, q.route_failures, 4000, q.lanes.count, q.route_failures == 1,
                               step_.wall_of(q.route_until), &q.route_reason});
        for (std::size_t lane = 0; lane < q.lanes.lane.size(); ++lane)
            if (const Slot front = flows_.front(q.lanes, lane); front != none)
                suspensions_.log_undelivered(front, Outcome::deferred, q.route_reason);
        suspensions_.log_queue(queue);
        placement_.count_delayed_tries(queue);
        break;
    case RouteKind::permanent:
        scheduler_.detach(queue);
        q.route = RouteState::impossible;
        q.route_failures = 0;
        placement_.fail_ready(queue, q.route_reason);
        break;
    }
    resets_.answered(queue, found, q.link != before);
    scheduler_.refresh(queue);
    if (found) placement_.count_delayed_tries(queue);
}

} // namespace decide::queue
