#include "daemons/simulate/report/timeline.h"
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace postrider::simulate {

namespace {

// More are counted and not kept.
constexpr std::size_t most_happenings = 100'000;

std::size_t intervals(smtp::Duration whole, smtp::Duration part) {
    return static_cast<std::size_t>((whole + part - smtp::Duration(1)) / part);
}

double quantile_of(std::vector<float>& delays, double quantile) {
    if (delays.empty()) return 0;
    const auto at =
        static_cast<std::ptrdiff_t>(std::llround(quantile * static_cast<double>(delays.size() - 1)));
    std::nth_element(delays.begin(), delays.begin() + at, delays.end());
    return delays[static_cast<std::size_t>(at)];
}

int badness(std::string_view state) {
    return state == "ready" ? 0 : state == "glitch" ? 1 : state == "retry" ? 2 : 3;
}

} // namespace

std::string_view word_of(Event what) {
    constexpr std::string_view words[] = {
        "trouble",  "mended",   "glitch", "retry",        "ready",        "down",        "up",   "reset",
        "rerouted", "no_route", "queue",  "first_notice", "first_return", "last_return", "peak", "drained"};
    static_assert(std::size(words) == static_cast<std::size_t>(Event::last_) + 1);
    return words[static_cast<std::size_t>(what)];
}

double Row::delay(double quantile) const {
    auto all = delays;
    return quantile_of(all, quantile);
}

double Fortune::delay(double quantile) const {
    auto all = delays;
    return quantile_of(all, quantile);
}

double Chronicle::Link::delay(double quantile) const {
    std::vector<float> all;
    all.reserve(delivered);
    for (const auto& row : rows) all.insert(all.end(), row.delays.begin(), row.delays.end());
    return quantile_of(all, quantile);
}

Chronicle::Chronicle(smtp::Duration duration, smtp::Duration interval, std::size_t columns)
    : duration_(duration), interval_(interval),
      column_(std::max((duration + smtp::Duration(static_cast<std::int64_t>(columns) - 1)) /
                           static_cast<std::int64_t>(columns),
                       smtp::Duration(1))),
      columns_(columns) {}

Chronicle::Link& Chronicle::link(const std::string& name) {
    const auto [at, is_new] = links_.try_emplace(name);
    if (is_new) {
        at->second.rows.resize(intervals(duration_, interval_));
        at->second.columns.resize(columns_);
        for (auto& row : at->second.rows) row.state = "ready";
        for (auto& column : at->second.columns) column.state = "ready";
    }
    return at->second;
}

Row* Chronicle::row(Link& link) { return row_ < link.rows.size() ? &link.rows[row_] : nullptr; }

Column* Chronicle::column(Link& link) {
    return at_column_ < link.columns.size() ? &link.columns[at_column_] : nullptr;
}

// What stood at the end of an interval stands at the beginning of the next.
void Chronicle::advance(smtp::Duration at) {
    for (const auto reached = static_cast<std::size_t>(at / interval_); row_ < reached;) {
        for (auto& [name, link] : links_)
            if (Row* now = row(link)) now->backlog = link.queued, now->state = link.state;
        ++row_;
        for (auto& [name, link] : links_)
            if (Row* now = row(link)) now->most = link.queued, now->state = link.state;
    }
    for (const auto reached = static_cast<std::size_t>(at / column_); at_column_ < reached;) {
        ++at_column_;
        for (auto& [name, link] : links_)
            if (Column* now = column(link)) now->most = link.queued, now->state = link.state;
    }
}

template <class Change> void Chronicle::change(Link& link, smtp::Duration at, Change change) {
    advance(at);
    if (Row* now = row(link)) {
        change(*now);
        now->most = std::max(now->most, link.queued);
    }
    if (Column* now = column(link)) now->most = std::max(now->most, link.queued);
    if (link.queued > link.peak) link.peak = link.queued, link.peak_at = at;
}

void Chronicle::drained(const std::string& name, Link& link, smtp::Duration at) {
    if (link.queued > 0 || link.peak < noteworthy || std::exchange(link.told_of_peak, true)) return;
    link.drained_at = at;
    say({.at = at,
         .what = Event::drained,
         .link = name,
         .text = fmt::format("the backlog is gone; it was {} at its highest", link.peak)});
}

void Chronicle::accepted(const std::string& name, smtp::Duration at) {
    Link& to = link(name);
    advance(at);
    ++to.accepted;
    ++to.queued;
    change(to, at, [](Row& row) { ++row.accepted; });
}

void Chronicle::delivered(const std::string& name, smtp::Duration at, smtp::Duration delay) {
    Link& from = link(name);
    advance(at);
    ++from.delivered;
    if (from.queued > 0) --from.queued;
    const auto seconds = std::chrono::duration<float>(delay).count();
    change(from, at, [&](Row& row) {
        ++row.delivered;
        row.delays.push_back(seconds);
    });
    if (Column* now = column(from)) now->longest = std::max(now->longest, static_cast<double>(seconds));
    drained(name, from, at);
}

void Chronicle::returned(const std::string& name, smtp::Duration at, Return why) {
    Link& from = link(name);
    advance(at);
    if (from.returned() == 0) {
        from.first_return = at;
        say({.at = at,
             .what = Event::first_return,
             .link = name,
             .text = "the first message is returned to its sender"});
    }
    from.last_return = at;
    ++(why == Return::refused ? from.refused : why == Return::expired ? from.expired : from.nobody_to_tell);
    if (from.queued > 0) --from.queued;
    change(from, at, [](Row& row) { ++row.returned; });
    if (Column* now = column(from)) ++now->returned;
    drained(name, from, at);
}

void Chronicle::noticed(const std::string& name, smtp::Duration at) {
    Link& of = link(name);
    if (of.notices++ == 0)
        say({.at = at,
             .what = Event::first_notice,
             .link = name,
             .text = "the first sender is told of a delay"});
    change(of, at, [](Row& row) { ++row.notices; });
}

void Chronicle::attempted(const std::string& name, smtp::Duration at, Try how) {
    Link& of = link(name);
    const std::uint64_t failed = how == Try::failed ? 1 : 0;
    ++of.attempts;
    of.failures += failed;
    change(of, at, [&](Row& row) {
        ++row.attempts;
        row.failures += failed;
    });
}

void Chronicle::moved(const std::string& from, const std::string& to, const std::string& domain,
                      smtp::Duration at, std::uint64_t messages) {
    Link& left = link(from);
    Link& right = link(to);
    advance(at);
    left.queued -= std::min(left.queued, messages);
    left.moved_out += messages;
    change(left, at, [](Row&) {});
    right.queued += messages;
    right.moved_in += messages;
    change(right, at, [](Row&) {});
    say({.at = at,
         .what = Event::rerouted,
         .link = from,
         .text = fmt::format("mail for {} goes over to {}: {} message{}", domain, to, messages,
                             messages == 1 ? "" : "s")});
}

void Chronicle::state(Happening happening, std::string_view state) {
    Link& of = link(happening.link);
    advance(happening.at);
    if (of.state == "down" && happening.what != Event::up) state = ""; // it stays so, whatever its probes say
    happening.brief = !state.empty() && of.state != state;
    if (happening.brief) {
        of.state = state;
        if (Column* now = column(of); now && badness(state) > badness(now->state)) now->state = state;
        if (Row* now = row(of)) now->state = state;
        if (state != "ready") of.told_of_peak = false;
    }
    say(std::move(happening));
}

void Chronicle::queue_state(Happening happening, const std::string& queue, std::string_view state) {
    auto known = queues_.find(queue);
    happening.brief = known == queues_.end() ? state != "ready" : known->second != state;
    if (state != "ready")
        queues_.insert_or_assign(queue, std::string(state));
    else if (known != queues_.end())
        queues_.erase(known);
    say(std::move(happening));
}

void Chronicle::say(Happening happening) {
    if (happenings_.size() < most_happenings) happenings_.push_back(std::move(happening));
}

void Chronicle::end() {
    for (auto& [name, link] : links_) {
        if (link.peak >= noteworthy)
            say({.at = link.peak_at,
                 .what = Event::peak,
                 .link = name,
                 .text = fmt::format("the backlog is at its highest: {} messages", link.peak)});
        if (link.returned() > 1)
            say({.at = link.last_return,
                 .what = Event::last_return,
                 .link = name,
                 .text = fmt::format("the last of {} messages is returned to its sender", link.returned())});
    }
    std::ranges::stable_sort(happenings_, {}, &Happening::at);
    advance(duration_ + interval_);
}

} // namespace postrider::simulate
