#include "daemons/decide/queue/inspection/link_listing.h"
#include "daemons/decide/queue/inspection/wait_reasons.h"
#include <algorithm>
#include <limits>
#include <map>

namespace decide::queue::inspection {

namespace {

struct Times {                 // of a queue's deliveries
    std::int64_t arrival = 0;  // of the oldest message
    smtp::Monotonic next{};    // of what waits for its own time; {}: none does
    std::uint32_t problem = 0; // of them, problem messages
};

// Links or queues that a listing is about, by slot; nothing: all.
using Chosen = std::optional<std::vector<bool>>;
bool is_in(const Chosen& chosen, Slot slot) { return !chosen || (slot < chosen->size() && (*chosen)[slot]); }

// Scans every delivery.
std::vector<Times> times_by_queue(const View& view, const Chosen& queues) {
    std::vector<Times> out(view.queues.top() + 1, Times{std::numeric_limits<std::int64_t>::max(), {}, 0});
    for (Slot slot = 1; slot <= view.deliveries.top(); ++slot) {
        const Delivery& d = view.deliveries[slot];
        if (d.message == none || d.queue == none || !is_in(queues, d.queue)) continue;
        Times& times = out[d.queue];
        times.arrival = std::min(times.arrival, view.messages[d.message].arrival);
        times.problem += d.problem;
        if (d.state != DeliveryState::waiting || d.scheduled) continue;
        if (times.next == smtp::Monotonic{} || d.due < times.next) times.next = d.due;
    }
    return out;
}

const Times* times_of(const std::vector<Times>& all, Slot queue) {
    if (queue >= all.size() || all[queue].arrival == std::numeric_limits<std::int64_t>::max()) return nullptr;
    return &all[queue];
}

struct Candidate {
    std::uint32_t deliveries;
    const std::string* name;
    Slot slot;
    bool operator<(const Candidate& other) const {
        if (deliveries != other.deliveries) return deliveries > other.deliveries;
        return *name < *other.name;
    }
};

// The first of them behind the place, in their order.
std::vector<Slot> busiest(std::vector<Candidate> all, const BusiestFirst& part) {
    if (part.behind) {
        const Candidate last{part.behind->deliveries, &part.behind->name, none};
        std::erase_if(all, [&](const Candidate& each) { return !(last < each); });
    }
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(part.at_most, all.size()));
    std::partial_sort(all.begin(), end, all.end());
    std::vector<Slot> out;
    for (auto each = all.begin(); each != end; ++each) out.push_back(each->slot);
    return out;
}

Chosen chosen_of(const std::vector<Slot>& slots, Slot top) {
    Chosen out(std::in_place, top + 1, false);
    for (const Slot each : slots) (*out)[each] = true;
    return out;
}

std::vector<AddressInfo> addresses_of(const View& view, Slot link) {
    const Link& l = view.links[link];
    std::vector<AddressInfo> out;
    const auto info_of = [&](const Address& a) -> AddressInfo& {
        const auto known = std::ranges::find(out, a.name, &AddressInfo::name);
        if (known != out.end()) return *known;
        return out.emplace_back(AddressInfo{a.name, a.connections, 0, view.addresses.limit_per_address(l)});
    };
    for (Slot slot = l.connections.head; slot != none; slot = view.connections[slot].next)
        for (const Slot address : view.connections[slot].addresses) ++info_of(view.addresses[address]).own;
    if (const Address* full = view.addresses.find(l.full_address); view.addresses.at_limit(l) && full) info_of(*full);
    return out;
}

std::vector<LinkInfo> list_links(const View& view, Ages ages, const Chosen& chosen) {
    std::vector<LinkInfo> out;
    std::map<Slot, LinkInfo> sums; // what its queues come to
    std::map<Slot, QueueBackoffs> resting;
    std::map<Slot, std::uint32_t> most_waiting; // of its queues: in the one that tells the reason
    Chosen queues;
    if (chosen) {
        queues.emplace(view.queues.top() + 1, false);
        for (Slot slot = 1; slot <= view.queues.top(); ++slot)
            (*queues)[slot] = view.queues[slot].link != none && is_in(chosen, view.queues[slot].link);
    }
    const auto times = ages == Ages::yes ? times_by_queue(view, queues) : std::vector<Times>{};
    for (Slot slot = 1; slot <= view.queues.top(); ++slot) {
        const Queue& q = view.queues[slot];
        if (q.name.empty() || q.link == none || !is_in(queues, slot)) continue;
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
        if (const auto* its = times_of(times, slot)) {
            const smtp::WallTime arrival{smtp::Duration(its->arrival)};
            sum.oldest = sum.oldest == smtp::WallTime{} ? arrival : std::min(sum.oldest, arrival);
            const auto next = its->next;
            if (!q.is_paused() && next != smtp::Monotonic{} && (rest.next == smtp::Monotonic{} || next < rest.next))
                rest.next = next;
        }
    }
    for (Slot slot = 1; slot <= view.links.top(); ++slot) {
        const Link& l = view.links[slot];
        if (l.name.empty() || !is_in(chosen, slot)) continue;
        LinkInfo info = std::move(sums[slot]);
        info.name = l.name;
        info.pool = view.pools[l.pool];
        info.mx = l.mx;
        info.local = l.kind == AgentKind::local;
        info.paused = view.gates.everything || l.paused;
        info.down = l.down;
        info.health = l.health.health;
        info.failures = l.health.failures;
        const bool stopped = view.gates.everything || l.paused;
        const QueueBackoffs rest = resting[slot];
        if (stopped) info.paused_by = view.gates.everything ? PausedObject{} : PausedObject{Scope::link, l.name};
        if (!stopped && l.offer == 0 && !rest.queue && rest.stops()) info.paused_by = pause_of(view, *rest.stopped);
        const auto next = l.health.health != Health::ready ? (rest.due > 0 || l.down ? l.health.due : rest.next)
                          : l.offer == 0 && rest.queue     ? rest.queue->health.due
                          : l.offer == 0                   ? rest.next
                                                           : smtp::Monotonic{};
        if (!stopped && next != smtp::Monotonic{}) info.next_attempt = view.step.nearest_second(next);
        info.failing_since = l.health.failing_since;
        info.last_error = l.health.last_error;
        info.connections = l.open();
        info.window = l.window.size();
        info.limit = l.window.limit();
        info.queues = l.queues;
        info.in_flight = l.in_flight;
        info.offer = l.offer;
        info.transaction = l.transaction;
        info.idle_reason = idle_reason(view, l, rest);
        info.at_address_limit = view.addresses.at_limit(l);
        info.addresses = addresses_of(view, slot);
        out.push_back(std::move(info));
    }
    return out;
}

std::vector<QueueInfo> list_queues(const View& view, Ages ages, const Chosen& chosen) {
    std::vector<QueueInfo> out;
    const auto times = ages == Ages::yes ? times_by_queue(view, chosen) : std::vector<Times>{};
    for (Slot slot = 1; slot <= view.queues.top(); ++slot) {
        const Queue& q = view.queues[slot];
        if (q.name.empty() || !is_in(chosen, slot)) continue;
        QueueInfo info;
        info.name = q.name;
        info.pool = view.pools[q.source_pool];
        if (q.link != none) info.link = view.links[q.link].name;
        info.paused = view.gates.everything || q.is_paused();
        info.routed = q.link != none;
        info.health = q.health.health;
        info.failures = q.health.failures;
        info.last_error = q.health.last_error;
        info.failing_since = q.health.failing_since;
        info.paused_by = pause_of(view, q);
        if (q.health.health != Health::ready && q.lanes.count > 0)
            info.next_attempt = view.step.nearest_second(q.health.due);
        if (const Link* l = q.link == none ? nullptr : &view.links[q.link]; l && l->health.health != Health::ready) {
            info.of_link = true;
            info.health = l->health.health;
            info.failures = l->health.failures;
            info.failing_since = l->health.failing_since;
            info.last_error = l->health.last_error;
            const auto next = q.health.health == Health::ready ? l->health.due : std::max(l->health.due, q.health.due);
            if (q.lanes.count > 0) info.next_attempt = view.step.nearest_second(next);
        }
        if (q.unroutable()) {
            info.failures = q.route_failures;
            info.failing_since = q.route_failing_since;
            info.last_error = q.route_reason;
            info.next_attempt =
                q.route == RouteState::failed ? view.step.nearest_second(q.route_until) : smtp::WallTime{};
        }
        info.deliveries = q.deliveries;
        info.due = q.lanes.count;
        info.in_flight = q.active;
        info.problem = q.lanes.lane[problem_lane].count;
        if (const auto* its = times_of(times, slot)) {
            info.oldest = smtp::WallTime(smtp::Duration(its->arrival));
            info.problem = its->problem;
            if (q.lanes.count == 0 && its->next != smtp::Monotonic{})
                info.next_attempt = view.step.nearest_second(its->next);
        }
        if (info.paused_by) info.next_attempt = {};
        info.idle_reason = idle_reason(view, q);
        out.push_back(std::move(info));
    }
    return out;
}

} // namespace

std::vector<LinkInfo> links(const View& view, Ages ages) { return list_links(view, ages, {}); }

std::vector<LinkInfo> links(const View& view, Ages ages, const BusiestFirst& part) {
    std::vector<std::uint32_t> deliveries(view.links.top() + 1);
    for (Slot slot = 1; slot <= view.queues.top(); ++slot)
        if (const Queue& q = view.queues[slot]; !q.name.empty() && q.link != none) deliveries[q.link] += q.deliveries;
    std::vector<Candidate> all;
    for (Slot slot = 1; slot <= view.links.top(); ++slot)
        if (!view.links[slot].name.empty()) all.push_back({deliveries[slot], &view.links[slot].name, slot});
    auto out = list_links(view, ages, chosen_of(busiest(std::move(all), part), view.links.top()));
    std::ranges::sort(out, [](const LinkInfo& one, const LinkInfo& other) {
        return Candidate{one.deliveries, &one.name, none} < Candidate{other.deliveries, &other.name, none};
    });
    return out;
}

std::optional<LinkInfo> link(const View& view, std::string_view name) {
    const Slot slot = view.links.find(name);
    if (slot == none || name.empty()) return {};
    auto found = list_links(view, Ages::yes, chosen_of({slot}, view.links.top()));
    if (found.empty()) return {};
    return std::move(found.front());
}

std::vector<LinkFailure> failures_of(const View& view, std::string_view link) {
    const Slot known = view.links.find(link);
    return known == none ? std::vector<LinkFailure>{} : view.links[known].history;
}

std::vector<QueueInfo> queues(const View& view, Ages ages) { return list_queues(view, ages, {}); }

std::vector<QueueInfo> queues(const View& view, std::string_view link, const BusiestFirst& part) {
    const Slot of = link.empty() ? none : view.links.find(link);
    std::vector<Candidate> all;
    for (Slot slot = 1; slot <= view.queues.top(); ++slot)
        if (const Queue& q = view.queues[slot]; !q.name.empty() && (link.empty() || (of != none && q.link == of)))
            all.push_back({q.deliveries, &q.name, slot});
    auto out = list_queues(view, Ages::yes, chosen_of(busiest(std::move(all), part), view.queues.top()));
    std::ranges::sort(out, [](const QueueInfo& one, const QueueInfo& other) {
        return Candidate{one.deliveries, &one.name, none} < Candidate{other.deliveries, &other.name, none};
    });
    return out;
}

std::optional<QueueInfo> queue(const View& view, std::string_view name) {
    const Slot slot = name.empty() ? none : view.queues.find(name);
    if (slot == none) return {};
    auto found = list_queues(view, Ages::yes, chosen_of({slot}, view.queues.top()));
    if (found.empty()) return {};
    return std::move(found.front());
}

Counts counts(const View& view) {
    Counts out;
    out.messages = view.messages.count();
    out.deliveries = view.deliveries.count();
    out.uncategorized = view.categorizer.pending() + view.categorizer.asked();
    out.waiting = view.placement.waiting().size();
    out.held = view.messages.held();
    out.reports = view.reporter.pending();
    out.links = view.links.named();
    out.queues = view.queues.named();
    out.connections = view.connections.count();
    out.scheduled = view.placement.scheduled();
    out.retrying = view.placement.uncategorized();
    out.free = view.placement.isolated(AgentKind::smtp).count + view.placement.isolated(AgentKind::local).count +
               view.placement.checking();
    for (Slot slot = 1; slot <= view.queues.top(); ++slot) {
        const Queue& q = view.queues[slot];
        if (q.name.empty()) continue;
        out.due += q.lanes.count;
        out.unlogged += q.lanes.unlogged;
        out.active += q.active;
        const Link* l = q.link == none ? nullptr : &view.links[q.link];
        if (view.gates.everything || q.is_paused() || (l && l->paused)) {
            out.paused += q.lanes.count + q.waiting;
            continue;
        }
        out.retrying += q.waiting;
        const bool failing = q.health.health != Health::ready || (l && l->health.health != Health::ready);
        (!l ? out.routing : failing ? out.retrying : out.free) += q.lanes.count;
    }
    return out;
}

std::size_t bytes(const View& view) {
    return view.messages.bytes() + view.deliveries.bytes() + view.deliveries.lists.bytes() + view.queues.bytes() +
           view.links.bytes() + view.connections.bytes() + view.flows.bytes() + view.placement.bytes();
}

std::vector<HealthSnapshot> health_snapshot(const View& view) {
    std::vector<HealthSnapshot> out;
    const auto keep = [&](const HealthState& h, HealthSnapshot r) {
        r.health = h.health;
        r.failures = h.failures;
        r.due = view.step.wall_of(h.due);
        r.failing_since = h.failing_since;
        r.last_error = h.last_error;
        out.push_back(std::move(r));
    };
    for (Slot slot = 1; slot <= view.links.top(); ++slot) {
        const Link& l = view.links[slot];
        if (l.name.empty() || (l.health.health == Health::ready && !l.down)) continue;
        keep(l.health,
             {.link = true,
              .name = l.name,
              .mx = l.mx,
              .down = l.down,
              .retry_since = l.retry_since == smtp::Monotonic{} ? smtp::WallTime{} : view.step.wall_of(l.retry_since),
              .history = l.history});
    }
    for (Slot slot = 1; slot <= view.queues.top(); ++slot) {
        const Queue& q = view.queues[slot];
        if (!q.name.empty() && q.health.health != Health::ready) keep(q.health, {.name = q.name});
    }
    for (Slot slot = 1; slot <= view.queues.top(); ++slot) {
        const Queue& q = view.queues[slot];
        if (q.name.empty() || q.deliveries == 0 || !q.unroutable()) continue;
        out.push_back({.route = true,
                       .name = q.name,
                       .failures = q.route_failures,
                       .due = view.step.wall_of(q.route_until),
                       .failing_since = q.route_failing_since,
                       .last_error = q.route_reason});
    }
    view.snapshots.list(out, view.settings.retry_interval_after);
    return out;
}

} // namespace decide::queue::inspection
