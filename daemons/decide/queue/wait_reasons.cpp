// What a delivery waits for, in a few words, beside the failure that is the reason; and all mail that waits where there
// is no link that could tell of it: for a next hop, for the categorizer, for a report to its sender.
#include "daemons/decide/queue/core.h"
#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace decide::queue {

std::string Core::route_wait_text(const Queue& q) const {
    if (!router_up_) return "the router is not running";
    if (q.route == RouteState::requested)
        return q.route_failures > 0 ? "its next hop could not be determined; it is being looked up again"
                                    : "its next hop is being looked up";
    if (unroutable(q)) return "its next hop could not be determined; it will be looked up again";
    return "its next hop has not been looked up yet";
}

std::string Core::waiting_for(const Delivery& d) const {
    const Queue* q = d.queue == none ? nullptr : &queues_[d.queue];
    switch (waiting(d)) {
    case Waiting::categorizer:
        return !categorizer_up_                  ? "the categorizer is not running"
               : d.state == DeliveryState::categorizing ? "the categorizer is working on it"
                                                 : "it waits for the categorizer";
    case Waiting::own_time:
        if (q != nullptr) return "";
        return undecided(d).empty() ? "the categorizer could not answer; it will be asked again"
                                    : "the categorizer deferred it; it will be asked again";
    case Waiting::route: return route_wait_text(*q);
    case Waiting::suspect: return "it was in flight when an agent crashed: it waits for its own agent";
    case Waiting::connection:
        return d.state == DeliveryState::checking ? "the suppression list is being checked" : idle_reason(*q);
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

smtp::WallTime Core::failing_since(const Delivery& d) const {
    if (d.queue == none) return {};
    const Queue& q = queues_[d.queue];
    if (unroutable(q)) return q.route_failing_since;
    if (q.link != none && links_[q.link].health.health != Health::ready) return links_[q.link].health.failing_since;
    return q.health.health != Health::ready ? q.health.failing_since : smtp::WallTime{};
}

std::string Core::report_wait_text(const MessageExtras& extra) const {
    if (!bounce_up_) return "a report to its sender is pending, but the bounce daemon is not running";
    if (!extra.report_error.empty())
        return fmt::format("a report to its sender is pending, but could not be written: {}", extra.report_error);
    return "the report to its sender is being written";
}

void Core::add_unrouted_queues(std::vector<Unrouted>& out) const {
    for (Slot slot = 1; slot <= queues_.top(); ++slot) {
        const Queue& q = queues_[slot];
        if (q.name.empty() || q.link != none || q.lanes.count + q.waiting == 0) continue;
        Unrouted one{.queue = q.name, .deliveries = q.lanes.count + q.waiting, .failures = q.route_failures};
        const auto stop = pause_of(q);
        one.waiting_for = stop              ? idle_reason(q)
                        : q.lanes.count > 0 ? route_wait_text(q)
                                          : "each message waits for its own retry time";
        if (!unroutable(q)) one.reason = q.last_wait;
        if (stop) {
            out.push_back(std::move(one));
            continue;
        }
        if (unroutable(q)) {
            one.failing_since = q.route_failing_since;
            one.reason = q.route_reason;
        }
        if (q.route == RouteState::failed) one.next_attempt = wall_of(q.route_until);
        out.push_back(std::move(one));
    }
}

// By reason: one table that does not answer is one line, whatever mail waits for it.
void Core::add_uncategorized(std::vector<Unrouted>& out) const {
    std::map<std::string_view, Unrouted> by_reason;
    Unrouted others; // told apart no more
    std::uint64_t left = uncategorized_wait_;
    for (const Slot slot : waiting_.slots()) {
        if (left == 0) break;
        const Delivery& d = deliveries_[slot];
        if (d.queue != none || d.scheduled) continue;
        --left;
        const auto add = [&](const Reason& reason, std::uint64_t recipients) {
            const bool room = by_reason.size() < max_reasons || by_reason.contains(reason.text);
            Unrouted& one = room ? by_reason[reason.text] : others;
            one.gate = Gate::categorizer;
            one.deliveries += recipients;
            one.failures = std::max<std::uint32_t>(one.failures, d.round);
            const auto next = wall_of(d.due);
            one.next_attempt = one.next_attempt == smtp::WallTime{} ? next : std::min(one.next_attempt, next);
            one.reason = reason;
            one.waiting_for = waiting_for(d);
            if (!room) one.reason = {reason.status, "other reasons", {}, {}};
        };
        static const Reason no_answer;
        const auto& groups = undecided(d);
        for (const CategorizerDeferral& group : groups) add(group.reason, group.numbers.size());
        if (groups.empty()) add(no_answer, d.count);
    }
    for (auto& [text, one] : by_reason) out.push_back(std::move(one));
    if (others.deliveries > 0) out.push_back(std::move(others));
    if (const auto count = pending_.count + pending_large_.count; !categorizer_up_ && count > 0)
        out.push_back({.gate = Gate::categorizer, .deliveries = count, .waiting_for = "the categorizer is not running"});
}

void Core::add_pending_reports(std::vector<Unrouted>& out) const {
    std::map<std::string, Unrouted> by_reason;
    for (const auto& [at, message] : reports_due_) {
        const MessageExtras& e = extras_[messages_[message].extras];
        if (bounce_up_ && !e.report_deferred) continue; // gathered with others for a moment
        auto why = report_wait_text(e);
        if (by_reason.size() >= max_reasons && !by_reason.contains(why)) why = "a report is pending: other reasons";
        Unrouted& one = by_reason[why];
        one.gate = Gate::report;
        one.deliveries += e.reports.size();
        if (bounce_up_ && one.next_attempt == smtp::WallTime{}) one.next_attempt = wall_of(at); // in the order of time
        one.waiting_for = std::move(why);
    }
    for (auto& [text, one] : by_reason) out.push_back(std::move(one));
}

std::vector<Unrouted> Core::unrouted(std::size_t at_most) const {
    std::vector<Unrouted> out;
    add_unrouted_queues(out);
    add_uncategorized(out);
    add_pending_reports(out);
    const auto before = [](const Unrouted& a, const Unrouted& b) {
        return std::tuple(a.failures == 0, b.deliveries) < std::tuple(b.failures == 0, a.deliveries);
    };
    std::ranges::stable_sort(out, before);
    if (out.size() <= at_most) return out;
    std::map<Gate, Unrouted> rest;
    std::map<Gate, std::size_t> lines;
    for (std::size_t i = at_most; i < out.size(); ++i) {
        rest[out[i].gate].deliveries += out[i].deliveries;
        ++lines[out[i].gate];
    }
    out.resize(at_most);
    for (auto& [gate, one] : rest) {
        one.gate = gate;
        one.waiting_for =
            lines[gate] == 1 ? "1 more such reason" : fmt::format("{} more such reasons", lines[gate]);
        out.push_back(std::move(one));
    }
    return out;
}

} // namespace decide::queue
