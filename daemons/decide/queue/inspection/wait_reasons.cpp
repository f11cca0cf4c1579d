#include "daemons/decide/queue/inspection/wait_reasons.h"
#include <algorithm>
#include <fmt/format.h>

namespace decide::queue::inspection {

bool is_for(const View& view, Slot delivery, const RecipientRange& range) {
    return view.deliveries[delivery].all_recipients ||
           std::ranges::any_of(view.deliveries.entries(delivery),
                               [&](const Entry& entry) { return range.contains(entry.number); });
}

Waiting waiting(const View& view, const Delivery& d) {
    if (view.messages[d.message].with_earlier_agent) return Waiting::active;
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
    const Queue& q = view.queues[d.queue];
    if (view.gates.everything || q.is_paused() || (q.link != none && view.links[q.link].paused)) return Waiting::paused;
    if (d.state == DeliveryState::waiting) return Waiting::own_time;
    if (q.link == none) return Waiting::route;
    if (view.links[q.link].health.health != Health::ready) return Waiting::link;
    if (q.health.health != Health::ready) return Waiting::queue;
    return d.state == DeliveryState::isolated ? Waiting::suspect : Waiting::connection;
}

std::optional<PausedObject> pause_of(const View& view, const Queue& q) {
    if (view.gates.everything) return PausedObject{};
    if (q.paused) return PausedObject{Scope::queue, q.name};
    if (q.pool_paused) return PausedObject{Scope::pool, view.pools[q.source_pool]};
    if (q.link != none && view.links[q.link].paused) return PausedObject{Scope::link, view.links[q.link].name};
    return {};
}

std::string route_wait_text(const View& view, const Queue& q) {
    if (!view.services.router) return "the router is not running";
    if (q.route == RouteState::requested)
        return q.route_failures > 0 ? "its next hop could not be determined; it is being looked up again"
                                    : "its next hop is being looked up";
    if (q.unroutable()) return "its next hop could not be determined; it will be looked up again";
    return "its next hop has not been looked up yet";
}

std::string shared_rate_text(const View& view, const Link& l, SharedRate rate) {
    const auto& lease = l.shared[rate];
    const auto* which = rate == SharedRate::messages ? "the rate limit" : "the rate limit of connections";
    if (lease->is_unknown(view.step.now()))
        return fmt::format("which nodes share {} is not known yet, for a few seconds after the start", which);
    if (!lease->divided()) return fmt::format("{} that all nodes of the fleet share is reached for now", which);
    return fmt::format("this node's part of {} that all nodes of the fleet share, 1/{}, is reached for now", which,
                       lease->nodes());
}

// Its own health is good; that of its domains may not be (TLS that one of them needs, say).
std::string idle_reason(const View& view, const Link& l, const QueueBackoffs& resting) {
    if (l.in_flight > 0 || l.opening > 0) return "";
    if (view.gates.everything) return "everything is paused";
    if (l.paused) return "the link is paused";
    if (l.health.health != Health::ready)
        return l.health.probing              ? ""
               : resting.due == 0 && !l.down ? "nothing is due"
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
    if (view.step.now() < l.next_message) return "its rate limit is reached for now";
    if (view.step.now() < view.links.next_message(l)) return shared_rate_text(view, l, SharedRate::messages);
    if (l.wants_connection)
        return view.connections.has_room() ? "no delivery agent has a free connection"
                                           : "other links use all of queue.connections_total";
    if (view.addresses.at_limit(l)) return view.addresses.limit_text(l);
    if (view.step.now() < l.not_before) return "the peer asked for fewer connections";
    if (view.step.now() >= l.next_connection && view.step.now() < view.links.next_connection(l))
        return shared_rate_text(view, l, SharedRate::connections);
    return "";
}

std::string idle_reason(const View& view, const Queue& q) {
    if (q.active > 0) return "";
    if (view.gates.everything) return "everything is paused";
    if (q.paused) return "the queue is paused";
    if (q.pool_paused) return "its pool is paused";
    if (q.lanes.count == 0) return q.waiting > 0 ? "no waiting message is due yet" : "nothing is due";
    if (q.link == none) return route_wait_text(view, q);
    if (q.health.health != Health::ready) return q.health.probing ? "" : "it failed; the next attempt is not due yet";
    QueueBackoffs here;
    here.due = q.lanes.count;
    const std::string of_link = idle_reason(view, view.links[q.link], here);
    return of_link.empty() ? "other queues of the link are served first" : "its link: " + of_link;
}

std::string waiting_for(const View& view, const Delivery& d) {
    const Queue* q = d.queue == none ? nullptr : &view.queues[d.queue];
    switch (waiting(view, d)) {
    case Waiting::categorizer:
        return !view.services.categorizer               ? "the categorizer is not running"
               : d.state == DeliveryState::categorizing ? "the categorizer is working on it"
                                                        : "it waits for the categorizer";
    case Waiting::own_time:
        if (q != nullptr) return "";
        return view.deliveries.undecided(d).empty() ? "the categorizer could not answer; it will be asked again"
                                                    : "the categorizer deferred it; it will be asked again";
    case Waiting::route: return route_wait_text(view, *q);
    case Waiting::suspect: return "it was in flight when an agent crashed: it waits for its own agent";
    case Waiting::connection:
        return d.state == DeliveryState::checking ? "the suppression list is being checked" : idle_reason(view, *q);
    case Waiting::scheduled:
    case Waiting::held:
    case Waiting::paused: // who paused it, and why, is known elsewhere
    case Waiting::queue:
    case Waiting::link:
    case Waiting::active:
    case Waiting::report: break;
    }
    return "";
}

smtp::WallTime failing_since(const View& view, const Delivery& d) {
    if (d.queue == none) return {};
    const Queue& q = view.queues[d.queue];
    if (q.unroutable()) return q.route_failing_since;
    if (q.link != none && view.links[q.link].health.health != Health::ready)
        return view.links[q.link].health.failing_since;
    return q.health.health != Health::ready ? q.health.failing_since : smtp::WallTime{};
}

std::string report_wait_text(const View& view, const MessageExtras& extra) {
    if (!view.services.bounce) return "a report to its sender is pending, but the bounce daemon is not running";
    if (!extra.report_error.empty())
        return fmt::format("a report to its sender is pending, but could not be written: {}", extra.report_error);
    return "the report to its sender is being written";
}

} // namespace decide::queue::inspection
