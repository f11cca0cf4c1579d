#include "daemons/decide/queue/tables/links.h"
#include "daemons/decide/hosts/mx.h"
#include <algorithm>

namespace decide::queue {

Links::Links(const Settings& settings, Step& step, const Gates& gates, const Services& services, const Terms& terms,
             NumberedNames& pools, Snapshots& snapshots, FleetRates& fleet)
    : settings_(settings), step_(step), gates_(gates), services_(services), terms_(terms), pools_(pools),
      snapshots_(snapshots), fleet_(fleet) {}

Slot Links::find(std::string_view name) const {
    const auto known = by_name_.find(name);
    return known == by_name_.end() ? none : known->second;
}

Slot Links::find_or_add(std::string_view name, AgentKind kind, bool mx) {
    if (const Slot known = find(name); known != none) return known;
    const Slot slot = allocate();
    Link& l = (*this)[slot];
    l.name = std::string(name);
    l.pool = pools_.number_of(pool_of_link(l.name));
    l.kind = kind;
    l.mx = mx;
    l.paused = gates_.links.contains(l.name);
    if (kind == AgentKind::local)
        l.window = Window(settings_.connections_local, settings_.connections_local);
    else
        l.window = Window(mx ? settings_.window_start : settings_.window_start_route, limit_of(l));
    by_name_.emplace(l.name, slot);
    if (const auto known = snapshots_.take_link(l.name)) {
        const HealthSnapshot& r = *known;
        snapshots_.restore(l.health, r);
        l.window.failed();
        if (r.retry_since != smtp::WallTime{})
            l.retry_since = std::min(step_.now(), std::max(step_.start(), step_.monotonic_of(r.retry_since)));
        l.down = r.down && !mx;
        l.history = r.history;
        if (l.down && services_.router) step_.emit(LinkState{l.name, true});
        schedule(slot);
    }
    return slot;
}

void Links::forget(Slot link) {
    by_name_.erase((*this)[link].name);
    fleet_.forget((*this)[link]);
    release(link);
}

std::uint32_t Links::limit_of(const Link& link) const {
    if (link.limit > 0) return link.limit;
    return link.mx ? settings_.connections_mx : settings_.connections_route;
}

void Links::join_terms(const Queue& q) {
    auto& terms = (*this)[q.link].terms;
    const auto same = [&](const LinkTerms& t) { return t.rule == q.rule && t.connections == q.connections; };
    const auto known = std::ranges::find_if(terms, same);
    if (known != terms.end())
        ++known->queues;
    else
        terms.push_back({q.rule, q.connections, 1});
    settle_terms(q.link);
}

void Links::leave_terms(const Queue& q) {
    auto& terms = (*this)[q.link].terms;
    const auto same = [&](const LinkTerms& t) { return t.rule == q.rule && t.connections == q.connections; };
    const auto known = std::ranges::find_if(terms, same);
    if (known != terms.end() && --known->queues == 0) terms.erase(known);
}

void Links::settle_terms(Slot link) {
    Link& l = (*this)[link];
    if (l.kind == AgentKind::local) return;
    l.limit = 0;
    l.message_gap = l.connection_gap = {};
    l.limit_rule = l.rate_rule = l.shared_rule = 0;
    smtp::Duration shared_messages{}, shared_connections{};
    l.by_backlog = false;
    const std::uint32_t usual = l.mx ? settings_.connections_mx : settings_.connections_route;
    std::uint32_t strictest = 0;
    for (const LinkTerms& each : l.terms) {
        const Rule& rule = terms_.rule(each.rule);
        const std::uint32_t its = each.connections > 0 ? each.connections : usual;
        if (strictest == 0 || its < strictest) {
            strictest = its;
            l.limit = each.connections;
            l.limit_rule = each.rule;
        }
        auto& message_gap = rule.share_rates ? shared_messages : l.message_gap;
        if (rule.message_gap > message_gap) {
            message_gap = rule.message_gap;
            (rule.share_rates ? l.shared_rule : l.rate_rule) = each.rule;
        }
        l.by_backlog = l.by_backlog || rule.by_backlog;
        auto& connection_gap = rule.share_rates ? shared_connections : l.connection_gap;
        connection_gap = std::max(connection_gap, rule.connection_gap);
    }
    if (!l.terms.empty()) { // a link that no queue uses for now keeps what it knows of its rates
        fleet_.set_gap(l, SharedRate::messages, shared_messages);
        fleet_.set_gap(l, SharedRate::connections, shared_connections);
    }
    l.window.set_limit(limit_of(l));
}

// When the next one was due, if that is hardly over: timers come late, and what was lost by that is made up
// for. Longer idleness is no credit.
smtp::Monotonic Links::next_at(smtp::Monotonic due) const {
    constexpr auto late = std::chrono::milliseconds(100);
    return step_.now() - due <= late ? due : step_.now();
}

bool Links::rate_open(Slot link) {
    Link& l = (*this)[link];
    if (step_.now() < l.next_message) {
        timers.bring_forward(link, l.next_message);
        return false;
    }
    if (fleet_.may_begin(link, l, SharedRate::messages, std::max(l.offer, 1U))) return true;
    timers.bring_forward(link, fleet_.opens_at(l, SharedRate::messages));
    return false;
}

smtp::Monotonic Links::next_message(const Link& l) const {
    return std::max(l.next_message, fleet_.waits_until(l, SharedRate::messages));
}

smtp::Monotonic Links::next_connection(const Link& l) const {
    return std::max(l.next_connection, fleet_.waits_until(l, SharedRate::connections));
}

// The token of the slower rate is harder to get, and good for longer: it comes first. One that would have to wait for
// the other is not asked for.
smtp::Monotonic Links::shared_rates_open(Slot link, std::uint32_t waiting) {
    Link& l = (*this)[link];
    const auto gap = [&](SharedRate rate) { return l.shared[rate] ? l.shared[rate]->gap() : smtp::Duration{}; };
    const bool connection_first = gap(SharedRate::connections) > gap(SharedRate::messages);
    const auto first = connection_first ? SharedRate::connections : SharedRate::messages;
    const auto second = connection_first ? SharedRate::messages : SharedRate::connections;
    for (const SharedRate each : {first, second})
        if (!fleet_.may_begin(link, l, each, each == SharedRate::messages ? std::max(l.offer, 1U) : waiting))
            return fleet_.opens_at(l, each);
    return {};
}

void Links::message_begins(Slot link) {
    Link& l = (*this)[link];
    l.next_message = next_at(l.next_message) + l.message_gap;
    fleet_.take(l, SharedRate::messages);
}

void Links::connection_begins(Slot link) {
    Link& l = (*this)[link];
    l.next_connection = next_at(l.next_connection) + l.connection_gap;
    fleet_.take(l, SharedRate::connections);
}

void Links::fleet_changed(const FleetPresence& presence) {
    if (!fleet_.set_state(presence)) return;
    for (Slot slot = 1; slot <= top(); ++slot)
        if (const Link& l = (*this)[slot]; l.shared[SharedRate::messages] || l.shared[SharedRate::connections])
            schedule(slot);
}

void Links::tokens_granted(const TokensGranted& event) {
    const Slot link = FleetRates::link_of(event.answer.number);
    if (link == none || link > top() || (*this)[link].name.empty()) return;
    fleet_.answered((*this)[link], event);
    schedule(link);
}

bool Links::may_go_down(const Link& l) const {
    return !l.mx && !l.down && l.kind == AgentKind::smtp && settings_.link_down_after != Settings::never &&
           l.retry_since != smtp::Monotonic{};
}

void Links::schedule(Slot link) {
    if (link == none || (*this)[link].needs_scheduling) return;
    (*this)[link].needs_scheduling = true;
    scheduled_.push_back(link);
}

Slot Links::next_scheduled() {
    if (taken_ == scheduled_.size()) {
        scheduled_.clear();
        taken_ = 0;
        return none;
    }
    const Slot link = scheduled_[taken_++];
    (*this)[link].needs_scheduling = false;
    return link;
}

void Links::check_unused(Slot link) {
    Link& l = (*this)[link];
    if (l.queues > 0 || !l.connections.empty()) return;
    if (l.down) return schedule(link); // it is probed
    l.empty_since = std::max({step_.now(), l.health.due, FleetRates::kept_until(l)});
    timers.bring_forward(link, l.empty_since + settings_.forget_after);
}

} // namespace decide::queue
