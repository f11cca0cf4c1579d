#include "daemons/decide/queue/inspection/explain.h"
#include "daemons/decide/queue/inspection/link_limits.h"
#include "daemons/decide/queue/inspection/wait_reasons.h"
#include <algorithm>
#include <fmt/format.h>

namespace decide::queue::inspection {

namespace {
// Places in line that are counted, for all deliveries of an answer together and for each of them.
constexpr std::uint32_t counted_at_most = 100'000, counted_at_least = 100;

std::string in_a_row(const HealthState& health) {
    return fmt::format("{} failure{}{}", health.failures, health.failures == 1 ? "" : "s in a row",
                       health.probing ? "; an attempt is in progress" : "");
}

// Places before it in its own flow: what its own submitter sent before it.
std::uint32_t count_ahead(const View& view, Slot slot, std::uint32_t at_most) {
    std::uint32_t count = 0;
    for (Slot at = view.deliveries[slot].prev; at != none && count < at_most; at = view.deliveries[at].prev) ++count;
    return count;
}

// At the front of its lane, and no lane with a greater share has mail waiting.
bool is_next(const View& view, Slot slot) {
    const Lanes& lanes = view.queues[view.deliveries[slot].queue].lanes;
    for (std::size_t lane = 0; lane < lanes.lane.size(); ++lane)
        if (const Slot front = view.flows.front(lanes, lane); front != none) return front == slot;
    return false;
}

Explanation explanation(const View& view, Slot slot, std::uint32_t counted) {
    const Delivery& d = view.deliveries[slot];
    const Message& m = view.messages[d.message];
    Explanation out;
    out.waiting = waiting(view, d);
    out.active = d.state == DeliveryState::active;
    if (!d.all_recipients)
        for (const Entry& entry : view.deliveries.entries(slot)) out.recipients.push_back(entry.number);
    auto gate = [&](Gate which, bool open) -> GateInfo& {
        out.gates.push_back({.gate = which, .open = open});
        return out.gates.back();
    };
    auto blocked = [&] { return std::ranges::any_of(out.gates, [](const GateInfo& each) { return !each.open; }); };
    auto until = [&](GateInfo& g, smtp::Monotonic when) {
        g.until = view.step.nearest_second(when);
        if (!g.open) out.next_attempt = std::max(out.next_attempt, g.until);
    };
    auto& schedule = gate(Gate::schedule, !(m.scheduled && m.free_from > view.step.wall_seconds()));
    if (!schedule.open) until(schedule, view.step.monotonic_of(smtp::WallTime(std::chrono::seconds(m.free_from))));
    gate(Gate::hold, !m.held);
    if (m.with_earlier_agent)
        gate(Gate::agent, false).text = "an agent from before the queue-manager's restart is still delivering it";
    if (d.queue == none) {
        gate(Gate::pause, !view.gates.everything).name = "";
        auto& categorizer = gate(Gate::categorizer, blocked()); // not asked before the gates above are open
        if (categorizer.open) return out;
        categorizer.text = waiting_for(view, d);
        if (d.state == DeliveryState::waiting && !d.scheduled) until(categorizer, d.due);
        return out;
    }
    const Queue& q = view.queues[d.queue];
    out.queue = q.name;
    const Link* l = q.link == none ? nullptr : &view.links[q.link];
    if (l) out.link = l->name;
    auto& pause = gate(Gate::pause, !view.gates.everything && !q.is_paused() && !(l && l->paused));
    if (auto stop = pause_of(view, q)) {
        pause.scope = stop->scope;
        pause.name = std::move(stop->name);
    }
    gate(Gate::categorizer, true);
    auto& suppression = gate(Gate::suppression, d.state != DeliveryState::checking && !d.needs_suppression_check);
    if (d.state == DeliveryState::checking)
        suppression.text = "the suppression list is being checked";
    else if (d.needs_suppression_check)
        suppression.text = "the suppression list is checked again before the next attempt";

    auto& route = gate(Gate::route, l != nullptr);
    if (!l) {
        if (q.unroutable()) {
            route.reason = q.route_reason;
            route.since = q.route_failing_since;
        }
        route.text = d.state == DeliveryState::waiting && q.route == RouteState::unknown ? "looked up when it is due"
                                                                                         : route_wait_text(view, q);
        if (q.route == RouteState::failed) until(route, q.route_until);
    } else {
        auto& link = gate(Gate::link, l->health.health == Health::ready);
        if (!link.open) {
            link.reason = l->health.last_error;
            link.text = in_a_row(l->health);
            link.since = l->health.failing_since;
            until(link, std::max(l->health.due, view.step.now()));
        }
        auto& queue = gate(Gate::queue, q.health.health == Health::ready);
        if (!queue.open) {
            queue.reason = q.health.last_error;
            queue.text = in_a_row(q.health);
            queue.since = q.health.failing_since;
            until(queue, std::max(q.health.due, view.step.now()));
        }
    }
    auto& ladder = gate(Gate::ladder, d.state != DeliveryState::waiting || d.scheduled);
    if (!ladder.open) {
        ladder.text = d.failures == 1 ? "1 failed attempt for this recipient"
                                      : fmt::format("{} failed attempts for this recipient", d.failures);
        until(ladder, d.due);
    }
    const RetryPolicy& policy = view.terms.policy_at(m.policy);
    if (policy.kind != RetryPolicy::Kind::exchange) {
        ladder.text += fmt::format("{}retry policy \"{}\" ({})", ladder.open ? "" : "; ", policy.name, text_of(policy));
        if (!ladder.open && out.next_attempt > ladder.until)
            ladder.text += "; an attempt that comes due while the next hop is still waiting is not made, "
                           "but counts";
    }
    if (!l) return out;
    const auto next = view.links.next_message(*l);
    auto& rate = gate(Gate::rate, d.state != DeliveryState::ready || view.step.now() >= next);
    if (!rate.open) {
        const bool own = view.step.now() < l->next_message;
        rate.text =
            own ? "the route's rate limit is reached for now" : shared_rate_text(view, *l, SharedRate::messages);
        rate.reason.text =
            fmt::format("route.\"{}\".messages_per_second, messages_per_hour{}",
                        view.terms.rule(own ? l->rate_rule : l->shared_rule).name, own ? "" : ", share_rates");
        until(rate, next);
    }
    auto& window = gate(Gate::window, true);
    bool agent_free = false;
    for (const Agent& each : view.connections.agents)
        agent_free = agent_free || (each.kind == l->kind && each.connections < each.capacity);
    if (d.state == DeliveryState::ready && l->open() >= l->window.size()) {
        window.open = false;
        window.text = fmt::format("all {} connections of the link's window are in use (limit {})", l->window.size(),
                                  l->window.limit());
        window.reason.text = limit_key(view, *l);
    } else if (d.state == DeliveryState::ready && view.scheduler.capacity_of(q) == 0) {
        window.open = false;
        window.text = fmt::format("{} deliveries for this user are in progress, the maximum", q.active);
        window.reason.text = "queue.connections_per_user";
    } else if (d.state == DeliveryState::ready && view.addresses.at_limit(*l)) {
        window.open = false;
        window.text = view.addresses.limit_text(*l);
        window.reason.text = l->mx ? "queue.connections_per_address" : limit_key(view, *l);
    } else if (d.state == DeliveryState::ready && l->wants_connection) {
        window.open = false;
        window.text = agent_free ? fmt::format("{} of {} connections in total are in use: the link waits for its share",
                                               view.connections.count(), view.settings.connections_total)
                                 : std::string("no delivery agent has a free connection");
        if (agent_free) window.reason.text = "queue.connections_total, link_share";
    }
    // The next in line waits only for the gates above, or for a connection to finish its work.
    const bool in_line = d.state == DeliveryState::ready && !(is_next(view, slot) && blocked());
    auto& turn = gate(Gate::turn, !in_line && d.state != DeliveryState::isolated);
    if (d.state == DeliveryState::isolated)
        turn.text = "it was in flight when an agent crashed: it waits for its own agent";
    const auto ahead = in_line ? count_ahead(view, slot, counted) : 0;
    if (in_line)
        turn.text = fmt::format("{}{} from the same submitter are before it; {} are due in its queue{}",
                                ahead == counted ? "at least " : "", ahead, q.lanes.count,
                                d.problem ? "; it is a problem message, and only one delivery in " +
                                                std::to_string(view.settings.problem_share) + " is for these"
                                          : "");
    return out;
}

} // namespace

std::vector<Explanation> explain(const View& view, spool::QueueId id, const RecipientRange& range) {
    std::vector<Explanation> out;
    const Slot message = view.messages.find(id);
    if (message == none) return out;
    std::vector<Slot> deliveries;
    for (Slot each = view.messages[message].first; each != none; each = view.deliveries[each].next_of_message)
        if (is_for(view, each, range)) deliveries.push_back(each);
    const auto counted = std::max<std::uint32_t>(
        counted_at_least, counted_at_most / static_cast<std::uint32_t>(std::max<std::size_t>(deliveries.size(), 1)));
    for (const Slot each : deliveries) {
        auto whole = explanation(view, each, counted);
        if (std::ranges::any_of(whole.gates, [](const GateInfo& g) {
                return !g.open && (g.gate == Gate::hold || g.gate == Gate::pause);
            }))
            whole.next_attempt = {}; // not by itself
        const auto& groups = view.deliveries.undecided(view.deliveries[each]);
        for (const CategorizerDeferral& group : groups) {
            out.push_back(whole);
            out.back().recipients = group.numbers;
            for (GateInfo& gate : out.back().gates)
                if (gate.gate == Gate::categorizer && !gate.open) gate.reason = group.reason;
        }
        if (groups.empty()) out.push_back(std::move(whole));
    }
    if (const auto slot = view.messages[message].extras; slot != none) {
        const MessageExtras& extra = view.messages.extras[slot];
        for (const PendingReport& due : extra.reports) {
            if (due.kind == ReportKind::delayed || !range.contains(due.recipient.number)) continue;
            out.push_back({.recipients = {due.recipient.number}, .waiting = Waiting::report});
            GateInfo& gate = out.back().gates.emplace_back();
            gate = {.gate = Gate::report, .open = false, .text = report_wait_text(view, extra)};
            if (extra.report_deferred && view.services.bounce) gate.until = view.step.nearest_second(extra.report_at);
            out.back().next_attempt = gate.until;
        }
    }
    return out;
}

} // namespace decide::queue::inspection
