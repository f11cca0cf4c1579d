#include "daemons/decide/queue/engine/housekeeping.h"
#include <algorithm>

namespace decide::queue {

void Housekeeping::run_due() {
    while (!queues_.timers.empty() && queues_.timers.next() <= step_.now()) queue_timer(queues_.timers.top());
    while (!links_.timers.empty() && links_.timers.next() <= step_.now()) link_timer(links_.timers.top());
}

std::optional<smtp::Monotonic> Housekeeping::next() const {
    std::optional<smtp::Monotonic> next;
    if (!queues_.timers.empty()) next = queues_.timers.next();
    if (!links_.timers.empty()) next = next ? std::min(*next, links_.timers.next()) : links_.timers.next();
    return next;
}

void Housekeeping::queue_timer(Slot queue) {
    queues_.timers.remove(queue);
    Queue& q = queues_[queue];
    const bool old = q.deliveries == 0 && step_.now() - q.empty_since >= settings_.forget_after;
    if (old && !q.lookup_queued && q.route != RouteState::requested && !q.resetting) {
        forget_queue(queue);
        return;
    }
    if (q.deliveries == 0) {
        queues_.timers.set(queue, std::max(q.empty_since, step_.now()) + settings_.forget_after);
        return;
    }
    scheduler_.refresh(queue);
    if (q.route == RouteState::failed && !placement_.isolated(AgentKind::smtp).empty())
        lookups_.add(queue); // may be for a suspect
}

void Housekeeping::forget_queue(Slot queue) {
    const std::string_view domain = step_.keep(queues_[queue].domain());
    scheduler_.detach(queue);
    queues_.forget(queue);
    if (queues_.of_domain(domain).empty()) step_.emit(DomainForgotten{domain});
}

void Housekeeping::link_timer(Slot link) {
    links_.timers.remove(link);
    Link& l = links_[link];
    dispatcher_.recall_stalled(link);
    if (links_.may_go_down(l)) {
        if (step_.now() - l.retry_since >= settings_.link_down_after)
            health_.mark_down(link);
        else
            links_.timers.bring_forward(link, l.retry_since + settings_.link_down_after);
    }
    if (l.queues > 0 || !l.connections.empty() || l.down)
        links_.schedule(link);
    else if (step_.now() - l.empty_since >= settings_.forget_after)
        forget_link(link);
    else
        links_.timers.set(link, l.empty_since + settings_.forget_after);
}

void Housekeeping::forget_link(Slot link) {
    Link& l = links_[link];
    if (l.needs_scheduling || l.wants_connection) { // it is still in a list; next time
        links_.timers.set(link, step_.now() + settings_.forget_after);
        return;
    }
    step_.emit(LinkForgotten{step_.keep(l.name)});
    addresses_.forget_link(link);
    links_.forget(link);
}

} // namespace decide::queue
