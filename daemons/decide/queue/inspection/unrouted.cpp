#include "daemons/decide/queue/inspection/unrouted.h"
#include "daemons/decide/queue/inspection/wait_reasons.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace decide::queue::inspection {

namespace {

constexpr std::size_t max_reasons = 100; // told apart

void add_unrouted_queues(const View& view, std::vector<Unrouted>& out) {
    for (Slot slot = 1; slot <= view.queues.top(); ++slot) {
        const Queue& q = view.queues[slot];
        if (q.name.empty() || q.link != none || q.lanes.count + q.waiting == 0) continue;
        Unrouted one{.queue = q.name, .deliveries = q.lanes.count + q.waiting, .failures = q.route_failures};
        const auto stop = pause_of(view, q);
        one.waiting_for = stop                ? idle_reason(view, q)
                          : q.lanes.count > 0 ? route_wait_text(view, q)
                                              : "each message waits for its own retry time";
        if (!q.unroutable()) one.reason = q.last_wait;
        if (stop) {
            out.push_back(std::move(one));
            continue;
        }
        if (q.unroutable()) {
            one.failing_since = q.route_failing_since;
            one.reason = q.route_reason;
        }
        if (q.route == RouteState::failed) one.next_attempt = view.step.nearest_second(q.route_until);
        out.push_back(std::move(one));
    }
}

// By reason: one table that does not answer is one line, whatever mail waits for it.
void add_uncategorized(const View& view, std::vector<Unrouted>& out) {
    std::map<std::string_view, Unrouted> by_reason;
    Unrouted others; // told apart no more
    std::uint64_t left = view.placement.uncategorized();
    for (const Slot slot : view.placement.waiting()) {
        if (left == 0) break;
        const Delivery& d = view.deliveries[slot];
        if (d.queue != none || d.scheduled) continue;
        --left;
        const auto add = [&](const Reason& reason, std::uint64_t recipients) {
            const bool room = by_reason.size() < max_reasons || by_reason.contains(reason.text);
            Unrouted& one = room ? by_reason[reason.text] : others;
            one.gate = Gate::categorizer;
            one.deliveries += recipients;
            one.failures = std::max<std::uint32_t>(one.failures, d.round);
            const auto next = view.step.nearest_second(d.due);
            one.next_attempt = one.next_attempt == smtp::WallTime{} ? next : std::min(one.next_attempt, next);
            one.reason = reason;
            one.waiting_for = waiting_for(view, d);
            if (!room) one.reason = {reason.status, "other reasons", {}, {}};
        };
        static const Reason no_answer;
        const auto& groups = view.deliveries.undecided(d);
        for (const CategorizerDeferral& group : groups) add(group.reason, group.numbers.size());
        if (groups.empty()) add(no_answer, d.count);
    }
    for (auto& [text, one] : by_reason) out.push_back(std::move(one));
    if (others.deliveries > 0) out.push_back(std::move(others));
    if (const auto count = view.categorizer.pending(); !view.services.categorizer && count > 0)
        out.push_back(
            {.gate = Gate::categorizer, .deliveries = count, .waiting_for = "the categorizer is not running"});
}

void add_pending_reports(const View& view, std::vector<Unrouted>& out) {
    std::map<std::string, Unrouted> by_reason;
    for (const auto& [at, message] : view.reporter.due()) {
        const MessageExtras& e = view.messages.extras[view.messages[message].extras];
        if (view.services.bounce && !e.report_deferred) continue; // gathered with others for a moment
        auto why = report_wait_text(view, e);
        if (by_reason.size() >= max_reasons && !by_reason.contains(why)) why = "a report is pending: other reasons";
        Unrouted& one = by_reason[why];
        one.gate = Gate::report;
        one.deliveries += e.reports.size();
        if (view.services.bounce && one.next_attempt == smtp::WallTime{}) // in the order of time
            one.next_attempt = view.step.nearest_second(at);
        one.waiting_for = std::move(why);
    }
    for (auto& [text, one] : by_reason) out.push_back(std::move(one));
}

} // namespace

std::vector<Unrouted> unrouted(const View& view, std::size_t at_most) {
    std::vector<Unrouted> out;
    add_unrouted_queues(view, out);
    add_uncategorized(view, out);
    add_pending_reports(view, out);
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
        one.waiting_for = lines[gate] == 1 ? "1 more such reason" : fmt::format("{} more such reasons", lines[gate]);
        out.push_back(std::move(one));
    }
    return out;
}

} // namespace decide::queue::inspection
