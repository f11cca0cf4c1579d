#include "daemons/decide/queue/engine/operator_commands.h"
#include "daemons/decide/queue/tables/reasons.h"
#include <algorithm>
#include <set>

namespace decide::queue {

OperatorCommands::OperatorCommands(const Settings& settings, Step& step, Gates& gates, Terms& terms,
                                   const NumberedNames& pools, Messages& messages, Deliveries& deliveries, Links& links,
                                   Queues& queues, Scheduler& scheduler, AgeWatch& ages, Addresses& addresses,
                                   Connections& connections, Reporter& reporter, Placement& placement,
                                   HealthTracker& health, Sweeper& sweeper)
    : settings_(settings), step_(step), gates_(gates), terms_(terms), pools_(pools), messages_(messages),
      deliveries_(deliveries), links_(links), queues_(queues), scheduler_(scheduler), ages_(ages),
      addresses_(addresses), connections_(connections), reporter_(reporter), placement_(placement), health_(health),
      sweeper_(sweeper) {}

// False: it already was. Opening a gate marks the end of a wait of our own making.
bool OperatorCommands::set_paused(Scope scope, std::string_view name, bool on) {
    const Seconds mark = step_.seconds(step_.now()) + 1;
    if (scope == Scope::everything) {
        if (gates_.everything == on) return false;
        gates_.everything = on;
        gates_.closings.set(on, step_.seconds(step_.now()));
        if (!on) gates_.last_wait_end = mark;
        for (Slot slot = 1; slot <= links_.top() && !on; ++slot)
            if (!links_[slot].name.empty()) links_.schedule(slot);
        for (Slot slot = 1; slot <= queues_.top() && !on; ++slot)
            if (!queues_[slot].name.empty()) placement_.count_delayed_tries(slot);
        return true;
    }
    Gates::Names& gates = scope == Scope::link ? gates_.links : scope == Scope::queue ? gates_.queues : gates_.pools;
    if (gates.contains(name) == on) return false;
    if (on)
        gates.emplace(name);
    else
        gates.erase(gates.find(name));
    auto& closings = scope == Scope::link    ? gates_.link_closings
                     : scope == Scope::queue ? gates_.queue_closings
                                             : gates_.pool_closings;
    Gates::note(closings, name, on, step_.seconds(step_.now()));
    if (scope == Scope::link) {
        const Slot link = links_.find(name);
        if (link == none) return true;
        links_[link].paused = on;
        if (!on) links_[link].last_wait_end = mark;
        for (Slot slot = 1; slot <= queues_.top() && !on; ++slot)
            if (!queues_[slot].name.empty() && queues_[slot].link == link) placement_.count_delayed_tries(slot);
        links_.schedule(link);
        return true;
    }
    if (scope == Scope::pool && !on) // links that are down are probed again
        for (Slot slot = 1; slot <= links_.top(); ++slot)
            if (!links_[slot].name.empty() && pools_[links_[slot].pool] == name) links_.schedule(slot);
    for (Slot slot = 1; slot <= queues_.top(); ++slot) {
        Queue& q = queues_[slot];
        if (q.name.empty() || (scope == Scope::queue ? q.name != name : pools_[q.source_pool] != name)) continue;
        (scope == Scope::queue ? q.paused : q.pool_paused) = on;
        if (!on) q.last_wait_end = mark;
        scheduler_.refresh(slot);
        if (!on) placement_.count_delayed_tries(slot);
    }
    return true;
}

// Its own time has come, and that of everything it waits for.
void OperatorCommands::try_now(Slot slot) {
    Delivery& d = deliveries_[slot];
    if (d.state == DeliveryState::waiting && !d.scheduled) {
        d.due = step_.now();
        placement_.due_now(slot);
    }
}

bool OperatorCommands::force(Scope scope, std::string_view name) {
    Slot link = none, queue = none;
    if (!queues_.knows(scope, name)) return false;
    std::set<Slot> of_pool; // links
    if (scope == Scope::pool) {
        for (Slot slot = 1; slot <= queues_.top(); ++slot)
            if (!queues_[slot].name.empty() && pools_[queues_[slot].source_pool] == name)
                of_pool.insert(queues_[slot].link);
    } else if (scope == Scope::link) {
        link = links_.find(name);
    } else if (scope == Scope::queue) {
        queue = queues_.find(name);
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
        l.health.due = l.not_before = l.address_limit_until = step_.now();
        links_.schedule(slot);
    }
    for (Slot slot = 1; slot <= queues_.top(); ++slot) {
        Queue& q = queues_[slot];
        if (q.name.empty() || !covers_queue(slot)) continue;
        q.health.due = step_.now();
        if (q.route == RouteState::failed || q.route == RouteState::impossible) q.route_until = step_.now();
        scheduler_.refresh(slot);
    }
    const std::vector<Slot> waiting = placement_.waiting();
    for (Slot slot : waiting)
        if (placement_.is_waiting(slot) && covers_queue(deliveries_[slot].queue)) try_now(slot);
    if (scope != Scope::everything) return true;
    reporter_.report_all_now();
    return true;
}

bool OperatorCommands::force(spool::QueueId id) {
    const Slot message = messages_.find(id);
    if (message == none || messages_[message].held) return false;
    if (Message& m = messages_[message]; m.scheduled) { // its time has come, and its lifetime begins
        m.scheduled = false;
        m.free_from = std::min(m.free_from, step_.wall_seconds());
        ages_.watch(message);
    }
    reporter_.report_now(message);
    std::vector<Slot> all;
    for (Slot slot = messages_[message].first; slot != none; slot = deliveries_[slot].next_of_message)
        all.push_back(slot);
    for (Slot slot : all) {
        if (deliveries_[slot].message != message) continue; // joined another meanwhile
        if (const Slot queue = deliveries_[slot].queue; queue != none) {
            Queue& q = queues_[queue];
            q.health.due = step_.now();
            if (q.route == RouteState::failed) q.route_until = step_.now();
            if (q.link != none) {
                links_[q.link].health.due = step_.now();
                links_.schedule(q.link);
            }
            scheduler_.refresh(queue);
        }
        if (deliveries_[slot].scheduled) {
            placement_.take_out(slot);
            deliveries_[slot].due = step_.now();
            placement_.place(slot, End::back);
        } else {
            try_now(slot);
        }
    }
    return true;
}

bool OperatorCommands::hold(spool::QueueId id) {
    const Slot message = messages_.find(id);
    if (message == none || messages_[message].held) return false;
    ages_.leave_incoming(message);
    ages_.unwatch(message);
    messages_.set_held(messages_[message], true);
    placement_.held_changed(message);
    return true;
}

bool OperatorCommands::release(spool::QueueId id) {
    const Slot message = messages_.find(id);
    if (message == none || !messages_[message].held) return false;
    Message& m = messages_[message];
    messages_.set_held(m, false);
    if (!m.scheduled || m.free_from <= step_.wall_seconds())
        m.free_from = step_.wall_seconds(); // held mail does not age
    placement_.held_changed(message);
    ages_.watch(message);
    return true;
}

// The agent that had it has released it, with or without delivering it: what is left is ours. It has aged meanwhile.
void OperatorCommands::agent_released(spool::QueueId id) {
    const Slot message = messages_.find(id);
    if (message == none || !messages_[message].with_earlier_agent) return;
    messages_[message].with_earlier_agent = false;
    placement_.held_changed(message);
    ages_.watch(message);
}

// Everything not in flight fails now; what is in flight fails if it comes back undelivered.
bool OperatorCommands::expire(spool::QueueId id) {
    const Slot message = messages_.find(id);
    if (message == none) return false;
    Message& m = messages_[message];
    ages_.leave_incoming(message);
    m.expiry = step_.wall_seconds();
    m.expiry_fixed = true;
    m.scheduled = false;
    messages_.set_held(m, false);
    for (Slot each = m.first; each != none;) {
        const Slot next = deliveries_[each].next_of_message;
        if (deliveries_[each].state != DeliveryState::active) {
            reporter_.expire(deliveries_[each], deliveries_.entries(each),
                             reason_of(deliveries_, links_, queues_, deliveries_[each]));
            placement_.take_out(each);
            placement_.remove(each);
        }
        each = next;
    }
    ages_.watch(message);
    placement_.finish(message);
    return true;
}

bool OperatorCommands::cancel(spool::QueueId id) {
    const Slot message = messages_.find(id);
    if (message == none) return false;
    for (Slot each = messages_[message].first; each != none; each = deliveries_[each].next_of_message) {
        deliveries_[each].cancelled = false; // requested again
        connections_.cancel(each);
    }
    return messages_[message].active > 0;
}

bool OperatorCommands::change_lane(spool::QueueId id, Lane lane) {
    const Slot message = messages_.find(id);
    if (message == none || messages_[message].lane == lane) return false;
    std::vector<Slot> ready; // out of the old lane before the message forgets which that was
    for (Slot slot = messages_[message].first; slot != none; slot = deliveries_[slot].next_of_message)
        if (deliveries_[slot].state == DeliveryState::ready) ready.push_back(slot);
    for (Slot slot : ready) placement_.take_out(slot);
    messages_[message].lane = lane;
    for (Slot slot : ready) placement_.place(slot, End::back);
    return true;
}

bool OperatorCommands::change_lifetime(spool::QueueId id, smtp::Duration lifetime) {
    const Slot message = messages_.find(id);
    if (message == none) return false;
    Message& m = messages_[message];
    ages_.leave_incoming(message);
    m.expiry = static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(lifetime).count());
    m.expiry_fixed = false;
    if (!m.held && !m.with_earlier_agent && ages_.expires(m) <= step_.wall_seconds())
        sweeper_.sweep(message); // tries first what is not failing now
    else
        ages_.watch(message);
    return true;
}

// What waits now waits for that time, whatever it waited for before; its lifetime begins then.
bool OperatorCommands::reschedule(spool::QueueId id, smtp::WallTime at, smtp::WallTime expiry) {
    const Slot message = messages_.find(id);
    if (message == none) return false;
    Message& m = messages_[message];
    const bool at_once = at <= step_.wall();
    if (m.active > 0 || m.with_earlier_agent || m.first == none || (at_once && !m.scheduled)) return false;
    ages_.leave_incoming(message);
    m.scheduled = !at_once;
    m.free_from = at_once ? std::min(m.free_from, step_.wall_seconds()) : to_seconds(at);
    if (expiry != smtp::WallTime{})
        m.expiry = m.returned_late ? std::min(m.expiry, to_seconds(expiry)) : to_seconds(expiry);
    std::vector<Slot> all;
    for (Slot slot = m.first; slot != none; slot = deliveries_[slot].next_of_message) all.push_back(slot);
    for (const Slot slot : all) {
        placement_.take_out(slot);
        placement_.place(slot, End::back);
    }
    ages_.watch(message);
    return true;
}

bool OperatorCommands::requeue(spool::QueueId id, const RetryPolicy* policy) {
    const Slot message = messages_.find(id);
    if (message == none) return false;
    if (policy != nullptr) {
        messages_[message].policy = terms_.policy_index(*policy);
        messages_[message].policy_unrecorded = false; // its file has it
    }
    std::vector<Slot> all;
    bool asked = false;
    for (Slot slot = messages_[message].first; slot != none; slot = deliveries_[slot].next_of_message)
        if (deliveries_[slot].state == DeliveryState::categorizing)
            asked = true; // its answer is the one that is wanted; a second might be recorded, too
        else if (deliveries_[slot].state != DeliveryState::active)
            all.push_back(slot);
    if (all.empty()) return asked;
    ages_.leave_incoming(message);
    std::vector<Entry> list;
    bool suspect = false; // remember that an agent died of it
    std::uint8_t deaths = 0;
    for (Slot slot : all) {
        placement_.take_out(slot);
        for (const Entry& each : deliveries_.entries(slot)) list.push_back(Entry{each.number, 0});
        suspect = suspect || deliveries_[slot].suspect;
        deaths = std::max(deaths, deliveries_[slot].deaths);
        placement_.remove(slot);
    }
    std::ranges::sort(list, {}, &Entry::number);
    // Found in the spool, and not categorized since.
    if (const Slot extra = messages_[message].extras; extra != none)
        std::erase_if(messages_.extras[extra].restored, [&](const RestoredRecipient& each) {
            if (!std::ranges::binary_search(list, each.number, {}, &Entry::number)) return false;
            suspect = suspect || each.suspect;
            deaths = std::max(deaths, static_cast<std::uint8_t>(std::min(each.deaths, 255u)));
            return true;
        });
    const Slot again = deliveries_.add(message);
    deliveries_.set_entries(again, list);
    if (suspect) {
        std::vector<RestoredRecipient> restored;
        for (const Entry& each : list) restored.push_back({.number = each.number, .deaths = deaths, .suspect = true});
        deliveries_.apply_restored(message, again, restored, step_.wall());
    }
    placement_.place(again, End::back);
    return true;
}

bool OperatorCommands::forget(spool::QueueId id) {
    const Slot message = messages_.find(id);
    if (message == none) return false;
    placement_.forget(message);
    return true;
}

void OperatorCommands::configure() {
    terms_.configure();
    // local has as many threads as at startup; a lower maximum is enforced as its link's limit
    for (auto& each : connections_.agents)
        if (each.kind == AgentKind::smtp) each.capacity = settings_.connections_total;
    for (Slot slot = 1; slot <= links_.top(); ++slot) {
        Link& l = links_[slot];
        if (l.name.empty()) continue;
        if (l.kind == AgentKind::local)
            l.window = Window(settings_.connections_local, settings_.connections_local);
        else
            links_.settle_terms(slot);
        links_.schedule(slot);
    }
    for (Slot slot = 1; slot <= queues_.top(); ++slot)
        if (queues_[slot].per_user && !queues_[slot].name.empty()) scheduler_.refresh(slot);
    for (Slot slot = 1; slot <= messages_.top(); ++slot)
        if (messages_[slot].id != 0 && !messages_[slot].young) ages_.watch(slot);
    addresses_.invite_all();
    connections_.mark_freed();
}

void OperatorCommands::routes_changed() {
    for (Slot slot = 1; slot <= links_.top(); ++slot) {
        Link& l = links_[slot];
        if (l.name.empty() || !l.down || l.queues > 0) continue;
        health_.mark_up(slot); // perhaps no route leads there any longer; otherwise its state is found out again
        if (l.connections.empty()) links_.check_unused(slot);
    }
    for (Slot slot = 1; slot <= queues_.top(); ++slot) {
        Queue& q = queues_[slot];
        if (q.name.empty() || q.route == RouteState::store) continue;
        q.route_until = step_.now();
        scheduler_.refresh(slot);
        if (q.route == RouteState::failed) queues_.timers.bring_forward(slot, step_.now());
    }
}

} // namespace decide::queue
