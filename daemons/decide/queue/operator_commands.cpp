// The operator's hand: gates that close without counting as anything, and trying now.
#include "daemons/decide/queue/core.h"
#include <algorithm>

namespace decide::queue {

bool Core::pause(Scope scope, std::string_view name) { return set_paused(scope, name, true); }
bool Core::resume(Scope scope, std::string_view name) { return set_paused(scope, name, false); }

// False: it was so already. What opens marks the end of a wait of our own doing.
bool Core::set_paused(Scope scope, std::string_view name, bool on) {
    const Seconds mark = seconds(now_.monotonic) + 1;
    if (scope == Scope::everything) {
        if (paused_ == on) return false;
        paused_ = on;
        if (!on) last_wait_end_ = mark;
        for (Slot slot = 1; slot <= links_.top() && !on; ++slot)
            if (!links_[slot].name.empty()) schedule(slot);
        for (Slot slot = 1; slot <= queues_.top() && !on; ++slot)
            if (!queues_[slot].name.empty()) count_delayed_tries(slot);
        return true;
    }
    Gates& gates = scope == Scope::link    ? paused_links_
                   : scope == Scope::queue ? paused_queues_
                                           : paused_pools_;
    if (gates.contains(name) == on) return false;
    if (on)
        gates.emplace(name);
    else
        gates.erase(gates.find(name));
    if (scope == Scope::link) {
        const auto known = links_by_name_.find(name);
        if (known == links_by_name_.end()) return true;
        links_[known->second].paused = on;
        if (!on) links_[known->second].last_wait_end = mark;
        for (Slot slot = 1; slot <= queues_.top() && !on; ++slot)
            if (!queues_[slot].name.empty() && queues_[slot].link == known->second) count_delayed_tries(slot);
        schedule(known->second);
        return true;
    }
    if (scope == Scope::pool && !on) // those that are down are probed again
        for (Slot slot = 1; slot <= links_.top(); ++slot)
            if (!links_[slot].name.empty() && pools_[links_[slot].pool] == name) schedule(slot);
    for (Slot slot = 1; slot <= queues_.top(); ++slot) {
        Queue& q = queues_[slot];
        if (q.name.empty() || (scope == Scope::queue ? q.name != name : pools_[q.source_pool] != name)) continue;
        (scope == Scope::queue ? q.paused : q.pool_paused) = on;
        if (!on) q.last_wait_end = mark;
        refresh(slot);
        if (!on) count_delayed_tries(slot);
    }
    return true;
}

// Its own time has come, and that of whatever it waits for.
void Core::try_now(Slot slot) {
    Delivery& d = deliveries_[slot];
    if (d.state == DeliveryState::waiting && !d.scheduled) {
        d.due = now_.monotonic;
        due_now(slot);
    }
}

// A report that was put off, too.
template <class Extras, class Schedule>
static void report_now(Extras& extra, Schedule& due, Slot message, smtp::Monotonic now) {
    if (!extra.report_deferred || extra.report_at == smtp::Monotonic{}) return;
    due.erase({extra.report_at, message});
    extra.report_at = now;
    due.emplace(now, message);
}

bool Core::force(Scope scope, std::string_view name) {
    Slot link = none, queue = none;
    if (!knows(scope, name)) return false;
    std::set<Slot> of_pool; // links
    if (scope == Scope::pool) {
        for (Slot slot = 1; slot <= queues_.top(); ++slot)
            if (!queues_[slot].name.empty() && pools_[queues_[slot].source_pool] == name)
                of_pool.insert(queues_[slot].link);
    } else if (scope == Scope::link) {
        link = links_by_name_.find(name)->second;
    } else if (scope == Scope::queue) {
        queue = queues_by_name_.find(name)->second;
        link = queues_[queue].link;
    }
    auto covers_queue = [&](Slot each) {
        if (scope == Scope::everything) return true;
        if (scope == Scope::pool) return each != none && pools_[queues_[each].source_pool] == name;
        return scope == Scope::queue ? each == queue : each != none && queues_[each].link == link;
    };
    for (Slot slot = 1; slot <= links_.top(); ++slot) {
        Link& l = links_[slot];
        if (l.name.empty()) continue;
        if (scope == Scope::pool ? !of_pool.contains(slot) : scope != Scope::everything && slot != link) continue;
        l.health.due = l.not_before = l.address_limit_until = now_.monotonic;
        schedule(slot);
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
    if (scope != Scope::everything) return true;
    const auto unreported = reports_due_; // as they are now
    for (const auto& [at, message] : unreported)
        report_now(extras_[messages_[message].extras], reports_due_, message, now_.monotonic);
    return true;
}

bool Core::force(spool::QueueId id) {
    const Slot message = find(id);
    if (message == none || messages_[message].held) return false;
    if (Message& m = messages_[message]; m.scheduled) { // its time has come, and that of its lifetime begins
        m.scheduled = false;
        m.free_from = std::min(m.free_from, wall_seconds());
        watch(message);
    }
    if (const auto extra = messages_[message].extras; extra != none)
        report_now(extras_[extra], reports_due_, message, now_.monotonic);
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
                schedule(q.link);
            }
            refresh(queue);
        }
        if (deliveries_[slot].scheduled) {
            take_out(slot);
            deliveries_[slot].due = now_.monotonic;
            place(slot, End::back);
        } else {
            try_now(slot);
        }
    }
    return true;
}

// The message's gate opened or closed: whatever is not in flight goes to where it belongs now.
void Core::held_changed(Slot message) {
    std::vector<Slot> all;
    for (Slot slot = messages_[message].first; slot != none; slot = deliveries_[slot].next_of_message)
        all.push_back(slot);
    const bool held = messages_[message].held || messages_[message].with_earlier_agent;
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
    if (!m.scheduled || m.free_from <= wall_seconds()) m.free_from = wall_seconds(); // held mail does not age
    held_changed(message);
    watch(message);
    return true;
}

// The agent that had it has let go, whatever came of it: what is left is ours. It has aged meanwhile.
void Core::agent_released(spool::QueueId id) {
    const Slot message = find(id);
    if (message == none || !messages_[message].with_earlier_agent) return;
    messages_[message].with_earlier_agent = false;
    held_changed(message);
    watch(message);
}

// Whatever is not in flight fails now; what is, when it comes back without having been delivered.
bool Core::expire(spool::QueueId id) {
    const Slot message = find(id);
    if (message == none) return false;
    Message& m = messages_[message];
    leave_incoming(message);
    m.expiry = wall_seconds();
    m.expiry_fixed = true;
    m.scheduled = false;
    if (m.held) --held_;
    m.held = false;
    for (Slot each = m.first; each != none;) {
        const Slot next = deliveries_[each].next_of_message;
        if (deliveries_[each].state != DeliveryState::active) {
            expire(message, entries(each), reason_of(deliveries_[each]));
            take_out(each);
            free_delivery(each);
        }
        each = next;
    }
    watch(message);
    finish(message);
    return true;
}

bool Core::change_lane(spool::QueueId id, Lane lane) {
    const Slot message = find(id);
    if (message == none || messages_[message].lane == lane) return false;
    std::vector<Slot> ready; // out of the old lane before the message forgets which that was
    for (Slot slot = messages_[message].first; slot != none; slot = deliveries_[slot].next_of_message)
        if (deliveries_[slot].state == DeliveryState::ready) ready.push_back(slot);
    for (Slot slot : ready) take_out(slot);
    messages_[message].lane = lane;
    for (Slot slot : ready) place(slot, End::back);
    return true;
}

bool Core::change_lifetime(spool::QueueId id, smtp::Duration lifetime) {
    const Slot message = find(id);
    if (message == none) return false;
    Message& m = messages_[message];
    leave_incoming(message);
    m.expiry = static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(lifetime).count());
    m.expiry_fixed = false;
    if (!m.held && !m.with_earlier_agent && expires(m) <= wall_seconds())
        sweep(message); // what of it is not failing now is tried first
    else
        watch(message);
    return true;
}

bool Core::requeue(spool::QueueId id, const RetryPolicy* policy) {
    const Slot message = find(id);
    if (message == none) return false;
    if (policy != nullptr) {
        messages_[message].policy = policy_index(*policy);
        messages_[message].policy_unrecorded = false; // its file has it
    }
    std::vector<Slot> all;
    bool asked = false;
    for (Slot slot = messages_[message].first; slot != none; slot = deliveries_[slot].next_of_message)
        if (deliveries_[slot].state == DeliveryState::categorizing)
            asked = true; // the answer that is under way is the one that is wanted; a second might be written down, too
        else if (deliveries_[slot].state != DeliveryState::active)
            all.push_back(slot);
    if (all.empty()) return asked;
    leave_incoming(message);
    std::vector<Entry> list;
    bool suspect = false; // that an agent died of it is not forgotten
    std::uint8_t deaths = 0;
    for (Slot slot : all) {
        take_out(slot);
        for (const Entry& each : entries(slot)) list.push_back(Entry{each.number, 0});
        suspect = suspect || deliveries_[slot].suspect;
        deaths = std::max(deaths, deliveries_[slot].deaths);
        free_delivery(slot);
    }
    std::ranges::sort(list, {}, &Entry::number);
    if (const Slot extra = messages_[message].extras; extra != none) // found in the spool, and not categorized since
        std::erase_if(extras_[extra].restored, [&](const RestoredRecipient& each) {
            if (!std::ranges::binary_search(list, each.number, {}, &Entry::number)) return false;
            suspect = suspect || each.suspect;
            deaths = std::max(deaths, static_cast<std::uint8_t>(std::min(each.deaths, 255u)));
            return true;
        });
    const Slot again = new_delivery(message);
    set_entries(again, list);
    if (suspect) {
        std::vector<RestoredRecipient> restored;
        for (const Entry& each : list)
            restored.push_back({.number = each.number, .deaths = deaths, .suspect = true});
        apply_restored(message, again, restored, now_.wall);
    }
    place(again, End::back);
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
    make_rules();
    for (auto& each : agents_) // local has as many threads as it started with; fewer deliveries are its link's limit
        if (each.kind == AgentKind::smtp) each.capacity = settings_.connections_total;
    for (Slot slot = 1; slot <= links_.top(); ++slot) {
        Link& l = links_[slot];
        if (l.name.empty()) continue;
        if (l.kind == AgentKind::local)
            l.window = Window(settings_.connections_local, settings_.connections_local);
        else
            settle_terms(slot);
        schedule(slot);
    }
    for (Slot slot = 1; slot <= queues_.top(); ++slot)
        if (queues_[slot].per_user && !queues_[slot].name.empty()) refresh(slot);
    for (Slot slot = 1; slot <= messages_.top(); ++slot)
        if (messages_[slot].id != 0 && !messages_[slot].young) watch(slot);
    for (Slot slot = 1; slot <= addresses_.top(); ++slot)
        if (!addresses_[slot].name.empty()) invite_next(slot);
    connection_freed_ = true;
}

void Core::routes_changed() {
    for (Slot slot = 1; slot <= links_.top(); ++slot) {
        Link& l = links_[slot];
        if (l.name.empty() || !l.down || l.queues > 0) continue;
        mark_up(slot); // perhaps no route leads there any more; else it is found out again
        if (l.connections.empty()) check_unused(slot);
    }
    for (Slot slot = 1; slot <= queues_.top(); ++slot) {
        Queue& q = queues_[slot];
        if (q.name.empty() || q.route == RouteState::store) continue;
        q.route_until = now_.monotonic;
        refresh(slot);
        if (q.route == RouteState::failed) queue_timers_.bring_forward(slot, now_.monotonic);
    }
}

} // namespace decide::queue
