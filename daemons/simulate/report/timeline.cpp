#include "daemons/simulate/report/timeline.h"
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace postrider::simulate {

namespace {

// More are counted and not kept.
constexpr std::size_t max_events = 100'000;

std::size_t intervals(smtp::Duration whole, smtp::Duration part) {
    return static_cast<std::size_t>((whole + part - smtp::Duration(1)) / part);
}

double quantile_of(std::vector<float>& delays, double quantile) {
    if (delays.empty()) return 0;
    const auto at = static_cast<std::ptrdiff_t>(std::llround(quantile * static_cast<double>(delays.size() - 1)));
    std::nth_element(delays.begin(), delays.begin() + at, delays.end());
    return delays[static_cast<std::size_t>(at)];
}

int severity(std::string_view state) { return state == "ready" ? 0 : state == "glitch" ? 1 : state == "retry" ? 2 : 3; }

} // namespace

std::string_view name_of(EventKind kind) {
    constexpr std::string_view words[] = {
        "trouble",  "trouble_ended", "glitch", "retry",        "ready",        "down",        "up",   "reset",
        "rerouted", "no_route",      "queue",  "first_notice", "first_return", "last_return", "peak", "drained"};
    static_assert(std::size(words) == static_cast<std::size_t>(EventKind::last_) + 1);
    return words[static_cast<std::size_t>(kind)];
}

double IntervalStats::delay(double quantile) const {
    auto all = delays;
    return quantile_of(all, quantile);
}

double TrafficStats::delay(double quantile) const {
    auto all = delays;
    return quantile_of(all, quantile);
}

double Timeline::Link::delay(double quantile) const {
    std::vector<float> all;
    all.reserve(delivered);
    for (const auto& row : rows) all.insert(all.end(), row.delays.begin(), row.delays.end());
    return quantile_of(all, quantile);
}

Timeline::Timeline(smtp::Duration duration, smtp::Duration interval, std::size_t columns)
    : duration_(duration), interval_(interval),
      column_(std::max((duration + smtp::Duration(static_cast<std::int64_t>(columns) - 1)) /
                           static_cast<std::int64_t>(columns),
                       smtp::Duration(1))),
      columns_(columns) {}

Timeline::Link& Timeline::link(const std::string& name) {
    const auto [at, is_new] = links_.try_emplace(name);
    if (is_new) {
        at->second.rows.resize(intervals(duration_, interval_));
        at->second.columns.resize(columns_);
        for (auto& row : at->second.rows) row.state = "ready";
        for (auto& column : at->second.columns) column.state = "ready";
    }
    return at->second;
}

IntervalStats* Timeline::row(Link& link) { return row_ < link.rows.size() ? &link.rows[row_] : nullptr; }

ChartColumn* Timeline::column(Link& link) {
    return at_column_ < link.columns.size() ? &link.columns[at_column_] : nullptr;
}

// The state at the end of an interval is that at the beginning of the next.
void Timeline::advance(smtp::Duration at) {
    for (const auto reached = static_cast<std::size_t>(at / interval_); row_ < reached;) {
        for (auto& [name, link] : links_)
            if (IntervalStats* now = row(link)) now->backlog = link.queued, now->state = link.state;
        ++row_;
        for (auto& [name, link] : links_)
            if (IntervalStats* now = row(link)) now->max_backlog = link.queued, now->state = link.state;
    }
    for (const auto reached = static_cast<std::size_t>(at / column_); at_column_ < reached;) {
        ++at_column_;
        for (auto& [name, link] : links_)
            if (ChartColumn* now = column(link)) now->max_backlog = link.queued, now->state = link.state;
    }
}

template <class Change> void Timeline::change(Link& link, smtp::Duration at, Change change) {
    advance(at);
    if (IntervalStats* now = row(link)) {
        change(*now);
        now->max_backlog = std::max(now->max_backlog, link.queued);
    }
    if (ChartColumn* now = column(link)) now->max_backlog = std::max(now->max_backlog, link.queued);
    if (link.queued > link.peak) link.peak = link.queued, link.peak_at = at;
}

void Timeline::drained(const std::string& name, Link& link, smtp::Duration at) {
    if (link.queued > 0 || link.peak < min_reported_backlog || std::exchange(link.peak_reported, true)) return;
    link.drained_at = at;
    add({.at = at,
         .kind = EventKind::drained,
         .link = name,
         .text = fmt::format("the backlog is cleared; its peak was {}", link.peak)});
}

void Timeline::accepted(const std::string& name, smtp::Duration at) {
    Link& to = link(name);
    advance(at);
    ++to.accepted;
    ++to.queued;
    change(to, at, [](IntervalStats& row) { ++row.accepted; });
}

void Timeline::delivered(const std::string& name, smtp::Duration at, smtp::Duration delay) {
    Link& from = link(name);
    advance(at);
    ++from.delivered;
    if (from.queued > 0) --from.queued;
    const auto seconds = std::chrono::duration<float>(delay).count();
    change(from, at, [&](IntervalStats& row) {
        ++row.delivered;
        row.delays.push_back(seconds);
    });
    if (ChartColumn* now = column(from)) now->max_delay = std::max(now->max_delay, static_cast<double>(seconds));
    drained(name, from, at);
}

void Timeline::returned(const std::string& name, smtp::Duration at, ReturnReason why) {
    Link& from = link(name);
    advance(at);
    if (from.returned() == 0) {
        from.first_return = at;
        add({.at = at,
             .kind = EventKind::first_return,
             .link = name,
             .text = "the first message is returned to its sender"});
    }
    from.last_return = at;
    ++(why == ReturnReason::rejected ? from.rejected : why == ReturnReason::expired ? from.expired : from.no_sender);
    if (from.queued > 0) --from.queued;
    change(from, at, [](IntervalStats& row) { ++row.returned; });
    if (ChartColumn* now = column(from)) ++now->returned;
    drained(name, from, at);
}

void Timeline::noticed(const std::string& name, smtp::Duration at) {
    Link& of = link(name);
    if (of.notices++ == 0)
        add({.at = at,
             .kind = EventKind::first_notice,
             .link = name,
             .text = "the first sender is notified of a delay"});
    change(of, at, [](IntervalStats& row) { ++row.notices; });
}

void Timeline::attempted(const std::string& name, smtp::Duration at, AttemptResult how) {
    Link& of = link(name);
    const std::uint64_t failed = how == AttemptResult::failed ? 1 : 0;
    ++of.attempts;
    of.failures += failed;
    change(of, at, [&](IntervalStats& row) {
        ++row.attempts;
        row.failures += failed;
    });
}

void Timeline::moved(const std::string& from, const std::string& to, const std::string& domain, smtp::Duration at,
                     std::uint64_t messages) {
    Link& left = link(from);
    Link& right = link(to);
    advance(at);
    left.queued -= std::min(left.queued, messages);
    left.moved_out += messages;
    change(left, at, [](IntervalStats&) {});
    right.queued += messages;
    right.moved_in += messages;
    change(right, at, [](IntervalStats&) {});
    add({.at = at,
         .kind = EventKind::rerouted,
         .link = from,
         .text = fmt::format("mail for {} moves to {}: {} message{}", domain, to, messages, messages == 1 ? "" : "s")});
}

void Timeline::state(TimelineEvent event, std::string_view state) {
    Link& of = link(event.link);
    advance(event.at);
    if (of.state == "down" && event.kind != EventKind::up) state = ""; // it stays so, whatever the result of its probes
    event.in_summary = !state.empty() && of.state != state;
    if (event.in_summary) {
        of.state = state;
        if (ChartColumn* now = column(of); now && severity(state) > severity(now->state)) now->state = state;
        if (IntervalStats* now = row(of)) now->state = state;
        if (state != "ready") of.peak_reported = false;
    }
    add(std::move(event));
}

void Timeline::queue_state(TimelineEvent event, const std::string& queue, std::string_view state) {
    auto known = queues_.find(queue);
    event.in_summary = known == queues_.end() ? state != "ready" : known->second != state;
    if (state != "ready")
        queues_.insert_or_assign(queue, std::string(state));
    else if (known != queues_.end())
        queues_.erase(known);
    add(std::move(event));
}

void Timeline::add(TimelineEvent event) {
    if (events_.size() < max_events) events_.push_back(std::move(event));
}

void Timeline::end() {
    for (auto& [name, link] : links_) {
        if (link.peak >= min_reported_backlog)
            add({.at = link.peak_at,
                 .kind = EventKind::peak,
                 .link = name,
                 .text = fmt::format("the backlog is at its peak: {} messages", link.peak)});
        if (link.returned() > 1)
            add({.at = link.last_return,
                 .kind = EventKind::last_return,
                 .link = name,
                 .text = fmt::format("the last of {} messages is returned to its sender", link.returned())});
    }
    std::ranges::stable_sort(events_, {}, &TimelineEvent::at);
    advance(duration_ + interval_);
}

} // namespace postrider::simulate
