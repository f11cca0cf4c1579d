#include "daemons/postrider/simulate/chronicle.h"
#include <fmt/format.h>
#include <utility>

namespace postrider::simulate {

namespace {

// A backlog is worth a line from here on.
constexpr std::uint64_t noteworthy = 20;

std::size_t intervals(smtp::Duration whole, smtp::Duration part) {
    return static_cast<std::size_t>((whole + part - smtp::Duration(1)) / part);
}

} // namespace

double Row::delay(double quantile) const {
    if (delays.empty()) return 0;
    auto sorted = delays;
    const auto at = static_cast<std::size_t>(quantile * static_cast<double>(sorted.size() - 1) + 0.5);
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(at), sorted.end());
    return sorted[at];
}

Chronicle::Chronicle(smtp::Duration duration, smtp::Duration interval)
    : duration_(duration), interval_(interval),
      column_(std::max(duration / std::int64_t{columns}, smtp::Duration(1))) {}

Chronicle::Link& Chronicle::link(const std::string& name) {
    const auto [at, is_new] = links_.try_emplace(name);
    if (is_new) {
        at->second.rows.resize(intervals(duration_, interval_));
        at->second.columns.resize(columns);
        for (auto& row : at->second.rows) row.state = "ready";
    }
    return at->second;
}

// What stood at the end of an interval stands at the beginning of the next.
void Chronicle::advance(smtp::Duration at) {
    const auto step = [&](std::size_t& now, smtp::Duration part, auto rows_of) {
        const auto reached = static_cast<std::size_t>(at / part);
        for (; now < reached; ++now)
            for (auto& [name, link] : links_) {
                auto& rows = rows_of(link);
                if (now < rows.size()) rows[now].backlog = link.queued, rows[now].state = link.state;
                if (now + 1 < rows.size()) rows[now + 1].most = link.queued;
            }
    };
    step(row_, interval_, [](Link& link) -> auto& { return link.rows; });
    step(at_column_, column_, [](Link& link) -> auto& { return link.columns; });
}

template <class Change> void Chronicle::change(Link& link, smtp::Duration at, Change change) {
    advance(at);
    for (Row* row : {row_ < link.rows.size() ? &link.rows[row_] : nullptr,
                     at_column_ < link.columns.size() ? &link.columns[at_column_] : nullptr})
        if (row) {
            change(*row);
            row->most = std::max(row->most, link.queued);
        }
    if (link.queued > link.peak) link.peak = link.queued, link.peak_at = at;
}

void Chronicle::accepted(const std::string& name, smtp::Duration at) {
    Link& to = link(name);
    ++to.accepted;
    ++to.queued;
    change(to, at, [](Row& row) { ++row.accepted; });
}

void Chronicle::delivered(const std::string& name, smtp::Duration at, smtp::Duration delay) {
    Link& from = link(name);
    ++from.delivered;
    if (from.queued > 0) --from.queued;
    const auto seconds = std::chrono::duration<float>(delay).count();
    change(from, at, [&](Row& row) {
        ++row.delivered;
        row.delays.push_back(seconds);
    });
    if (from.queued == 0 && from.peak >= noteworthy && !std::exchange(from.told_of_peak, true))
        say(at, name, fmt::format("the backlog is gone; it was {} at its highest", from.peak));
}

void Chronicle::reported(const std::string& name, smtp::Duration at) {
    Link& from = link(name);
    if (from.reports++ == 0) say(at, name, "the first message is returned to its sender");
    if (from.queued > 0) --from.queued;
    change(from, at, [](Row& row) { ++row.reports; });
}

void Chronicle::noticed(const std::string& name, smtp::Duration at) {
    Link& of = link(name);
    if (of.notices++ == 0) say(at, name, "the first sender is told of a delay");
    change(of, at, [](Row& row) { ++row.notices; });
}

void Chronicle::try_failed(const std::string& name, smtp::Duration at) {
    Link& of = link(name);
    ++of.tries_failed;
    change(of, at, [](Row& row) { ++row.tries_failed; });
}

void Chronicle::moved(const std::string& from, const std::string& to, smtp::Duration at,
                      std::uint64_t messages) {
    Link& left = link(from);
    left.queued -= std::min(left.queued, messages);
    change(left, at, [](Row&) {});
    Link& right = link(to);
    right.queued += messages;
    change(right, at, [](Row&) {});
}

void Chronicle::state(const std::string& name, smtp::Duration at, std::string_view state, std::string what) {
    Link& of = link(name);
    advance(at);
    if (of.state == state) return;
    of.state = state;
    if (state != "ready") of.told_of_peak = false;
    say(at, name, std::move(what));
}

void Chronicle::say(smtp::Duration at, std::string link, std::string what) {
    happenings_.push_back({at, std::move(link), std::move(what)});
}

void Chronicle::end() { advance(duration_ + interval_); }

} // namespace postrider::simulate
