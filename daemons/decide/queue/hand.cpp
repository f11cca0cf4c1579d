// The operator's hand: gates that close without counting as anything, and trying now.
#include "daemons/decide/queue/core.h"

namespace decide::queue {

bool Core::pause(Scope scope, std::string_view name) {
    switch (scope) {
    case Scope::everything:
        if (paused_) return false;
        paused_ = true;
        return true;
    case Scope::link: {
        if (!paused_links_.emplace(name).second) return false;
        if (const auto known = links_by_name_.find(name); known != links_by_name_.end())
            links_[known->second].paused = true;
        return true;
    }
    case Scope::queue: {
        if (!paused_queues_.emplace(name).second) return false;
        if (const auto known = queues_by_name_.find(name); known != queues_by_name_.end()) {
            queues_[known->second].paused = true;
            refresh(known->second);
        }
        return true;
    }
    }
    return false;
}

bool Core::resume(Scope scope, std::string_view name) {
    const Seconds mark = seconds(now_.monotonic) + 1;
    switch (scope) {
    case Scope::everything:
        if (!paused_) return false;
        paused_ = false;
        mark_ = mark;
        for (Slot slot = 1; slot <= links_.top(); ++slot)
            if (!links_[slot].name.empty()) dirty(slot);
        return true;
    case Scope::link: {
        const auto gate = paused_links_.find(name);
        if (gate == paused_links_.end()) return false;
        paused_links_.erase(gate);
        if (const auto known = links_by_name_.find(name); known != links_by_name_.end()) {
            links_[known->second].paused = false;
            links_[known->second].mark = mark;
            dirty(known->second);
        }
        return true;
    }
    case Scope::queue: {
        const auto gate = paused_queues_.find(name);
        if (gate == paused_queues_.end()) return false;
        paused_queues_.erase(gate);
        if (const auto known = queues_by_name_.find(name); known != queues_by_name_.end()) {
            queues_[known->second].paused = false;
            queues_[known->second].mark = mark;
            refresh(known->second);
        }
        return true;
    }
    }
    return false;
}

// Its own time has come, and that of whatever it waits for.
void Core::try_now(Slot slot) {
    Delivery& d = deliveries_[slot];
    if (d.state == DeliveryState::waiting && !d.scheduled) {
        d.due = now_.monotonic;
        due_now(slot);
    }
}

bool Core::force(Scope scope, std::string_view name) {
    Slot link = none, queue = none;
    if (scope == Scope::link) {
        const auto known = links_by_name_.find(name);
        if (known == links_by_name_.end()) return false;
        link = known->second;
    } else if (scope == Scope::queue) {
        const auto known = queues_by_name_.find(name);
        if (known == queues_by_name_.end()) return false;
        queue = known->second;
        link = queues_[queue].link;
    }
    auto covers_queue = [&](Slot each) {
        if (scope == Scope::everything) return true;
        return scope == Scope::queue ? each == queue : each != none && queues_[each].link == link;
    };
    for (Slot slot = 1; slot <= links_.top(); ++slot) {
        Link& l = links_[slot];
        if (l.name.empty() || (scope != Scope::everything && slot != link)) continue;
        l.health.due = l.not_before = now_.monotonic;
        dirty(slot);
    }
    for (Slot slot = 1; slot <= queues_.top(); ++slot) {
        Queue& q = queues_[slot];
        if (q.name.empty() || !covers_queue(slot)) continue;
        q.health.due = now_.monotonic;
        if (q.route == RouteState::failed || q.route == RouteState::impossible)
            q.route_until = now_.monotonic;
        refresh(slot);
    }
    const std::vector<Slot> waiting = waiting_.slots();
    for (Slot slot : waiting)
        if (waiting_.contains(slot) && covers_queue(deliveries_[slot].queue)) try_now(slot);
    return true;
}

bool Core::force(spool::QueueId id) {
    const Slot message = find(id);
    if (message == none || messages_[message].held) return false;
    messages_[message].scheduled = false;
    std::vector<Slot> all;
    for (Slot slot = messages_[message].first; slot != none; slot = deliveries_[slot].next_of_message)
        all.push_back(slot);
    for (Slot slot : all) {
        if (deliveries_[slot].message != message) continue; // joined another meanwhile
        if (const Slot queue = deliveries_[slot].queue; queue != none) {
            Queue& q = queues_[queue];
            q.health.due = now_.monotonic;
            if (q.route == RouteState::failed) q.route_until = now_.monotonic;
            if (q.link != none) {
                links_[q.link].health.due = now_.monotonic;
                dirty(q.link);
            }
            refresh(queue);
        }
        deliveries_[slot].scheduled = false;
        try_now(slot);
    }
    return true;
}

// The message's gate opened or closed: whatever is not in flight goes to where it belongs now.
void Core::held_changed(Slot message) {
    std::vector<Slot> all;
    for (Slot slot = messages_[message].first; slot != none; slot = deliveries_[slot].next_of_message)
        all.push_back(slot);
    const bool held = messages_[message].held;
    for (Slot slot : all) {
        Delivery& d = deliveries_[slot];
        if (d.state == DeliveryState::active || (d.state == DeliveryState::held) == held) continue;
        take_out(slot);
        if (!held) d.since = seconds(now_.monotonic) + 1;
        place(slot, End::back);
    }
}

bool Core::hold(spool::QueueId id) {
    const Slot message = find(id);
    if (message == none || messages_[message].held) return false;
    leave_incoming(message);
    unwatch(message);
    messages_[message].held = true;
    ++held_;
    held_changed(message);
    return true;
}

bool Core::release(spool::QueueId id) {
    const Slot message = find(id);
    if (message == none || !messages_[message].held) return false;
    Message& m = messages_[message];
    m.held = false;
    --held_;
    if (!m.scheduled) m.free_from = wall_seconds(); // held mail does not age
    held_changed(message);
    watch(message);
    return true;
}

bool Core::forget(spool::QueueId id) {
    const Slot message = find(id);
    if (message == none) return false;
    erase(message);
    return true;
}

void Core::configure(const Settings& settings) {
    settings_ = settings;
    for (Slot slot = 1; slot <= links_.top(); ++slot) {
        Link& l = links_[slot];
        if (l.name.empty()) continue;
        if (l.kind == AgentKind::local)
            l.window = Window(settings_.connections_local, settings_.connections_local);
        else
            l.window.set_limit(limit_of(l));
        dirty(slot);
    }
    for (Slot slot = 1; slot <= messages_.top(); ++slot)
        if (messages_[slot].id != 0 && !messages_[slot].young) watch(slot);
    room_ = true;
}

void Core::routes_changed() {
    for (Slot slot = 1; slot <= queues_.top(); ++slot) {
        Queue& q = queues_[slot];
        if (q.name.empty() || q.route == RouteState::store) continue;
        q.route_until = now_.monotonic;
        refresh(slot);
        if (q.route == RouteState::failed) queue_timers_.bring_forward(slot, now_.monotonic);
    }
}

} // namespace decide::queue
