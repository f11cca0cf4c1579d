#include "daemons/simulate/report/report.h"
#include "daemons/common/terminal/text.h"
#include "daemons/simulate/report/ascii_chart.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace postrider::simulate {

namespace {

using Named = std::pair<std::string_view, const Timeline::Link*>;

constexpr std::size_t links_shown = 8;   // with timetable and drawings; all are in the first table
constexpr std::size_t events_shown = 4;  // of one kind and link
constexpr double min_charted_delay = 10; // seconds of delay

// In lines of that width, the first one and the others begun as told.
std::string wrapped(std::string_view text, std::size_t width, std::string first, const std::string& others) {
    std::string out, line = std::move(first);
    bool empty = true;
    while (!text.empty()) {
        const auto end = std::min(text.find(' '), text.size());
        const auto word = text.substr(0, end);
        if (!empty && line.size() + 1 + word.size() > width) {
            out += line + "\n";
            line = others;
            empty = true;
        }
        if (!empty) line += ' ';
        line += truncated(word, width - others.size());
        empty = false;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out + line + "\n";
}

std::string number_or_dash(std::uint64_t number) {
    return number == 0 ? "-" : short_number(static_cast<double>(number));
}

std::string link_table(const Timeline& timeline, std::size_t width) {
    const auto name_width = width - 45;
    std::string out = fmt::format("{:<{}} {:>8} {:>9} {:>8} {:>8} {:>7}\n", "Link", name_width, "mail in", "delivered",
                                  "returned", "highest", "left");
    for (const auto& [name, link] : timeline.links())
        out += fmt::format("{:<{}} {:>8} {:>9} {:>8} {:>8} {:>7}\n", truncated(name, name_width), name_width,
                           link.accepted, link.delivered, link.returned(), link.peak, link.queued);
    return out;
}

std::string traffic_table(const Timeline& timeline, std::size_t width) {
    const auto name_width = width - 55;
    std::string out = fmt::format("{:<{}} {:>8} {:>9} {:>8} {:>12} {:>12}\n", "Traffic", name_width, "mail in",
                                  "delivered", "returned", "half within", "longest wait");
    for (const auto& [name, of] : timeline.traffic())
        out += fmt::format("{:<{}} {:>8} {:>9} {:>8} {:>12} {:>12}\n", truncated(name, name_width), name_width,
                           of.accepted, of.delivered, of.returned, wait_text(of.delay(0.5)), wait_text(of.delay(1)));
    return out;
}

std::string event_list(const Timeline& timeline, std::size_t width) {
    std::string out = "What happened:\n";
    std::map<std::pair<std::string, EventKind>, std::size_t> seen;
    bool any = false;
    for (const auto& each : timeline.events()) {
        if (!each.in_summary) continue;
        any = true;
        if (each.kind != EventKind::fault_begins && each.kind != EventKind::fault_ends &&
            ++seen[{each.link, each.kind}] > events_shown)
            continue;
        out += wrapped(each.link.empty() ? each.text : each.link + ": " + each.text, width,
                       fmt::format("{:>9}  ", clock_text(each.at)), std::string(13, ' '));
    }
    for (const auto& [of, count] : seen)
        if (count > events_shown)
            out += wrapped(fmt::format("{}{}{} more of \"{}\"; --json shows all", of.first,
                                       of.first.empty() ? "" : ": ", count - events_shown, name_of(of.second)),
                           width, std::string(11, ' '), std::string(13, ' '));
    if (!any) out += "           nothing notable\n";
    return out;
}

std::string link_facts(const Timeline::Link& link, std::size_t width) {
    std::string text = fmt::format("{} attempts, {} failed", link.attempts, link.failures);
    if (link.returned() > 0)
        text += fmt::format("; {} returned, {} of them because {} expired", link.returned(), link.expired,
                            link.expired == 1 ? "it" : "they");
    if (link.no_sender > 0) text += fmt::format("; {} had no sender to notify", link.no_sender);
    if (link.notices > 0) text += fmt::format("; {} delay notices", link.notices);
    if (link.moved_out > 0) text += fmt::format("; {} moved to another link", link.moved_out);
    if (link.moved_in > 0) text += fmt::format("; {} moved here from another link", link.moved_in);
    auto out = wrapped(text + ".", width, "  ", "  ");
    if (link.delivered > 0)
        out += wrapped(fmt::format("Delay: half within {}, 95 % within {}, 99 % within {}, longest {}.",
                                   wait_text(link.delay(0.5)), wait_text(link.delay(0.95)), wait_text(link.delay(0.99)),
                                   wait_text(link.delay(1))),
                       width, "  ", "  ");
    return out;
}

std::string timetable(const Timeline& timeline, const Timeline::Link& link) {
    std::string out = fmt::format("{:>9} {:>7} {:>9} {:>8} {:>8} {:>7} {:>12}  {}\n", "until", "in", "delivered",
                                  "returned", "failed", "backlog", "longest wait", "state");
    const auto idle = [](const IntervalStats& row) {
        return row.accepted + row.attempts + row.max_backlog == 0 && row.state == "ready";
    };
    const auto first = std::ranges::find_if_not(link.rows, idle); // nothing to show before the first mail
    for (auto n = static_cast<std::size_t>(first - link.rows.begin()); n < link.rows.size(); ++n) {
        const auto& row = link.rows[n];
        const auto end = std::min(timeline.duration(), timeline.interval() * static_cast<std::int64_t>(n + 1));
        out += fmt::format("{:>9} {:>7} {:>9} {:>8} {:>8} {:>7} {:>12}  {}\n", clock_text(end),
                           number_or_dash(row.accepted), number_or_dash(row.delivered), number_or_dash(row.returned),
                           number_or_dash(row.failures), number_or_dash(row.backlog),
                           row.delays.empty() ? std::string("-") : wait_text(row.delay(1)), row.state);
    }
    return out;
}

std::string charts(const Timeline& timeline, const Timeline::Link& link) {
    std::vector<double> backlog, delay, returned;
    std::string states(12, ' ');
    states.replace(5, 5, "state");
    bool ever_unhealthy = false;
    for (const auto& column : link.columns) {
        backlog.push_back(static_cast<double>(column.max_backlog));
        delay.push_back(column.max_delay);
        returned.push_back(static_cast<double>(column.returned));
        ever_unhealthy |= column.state != "ready";
        states += column.state == "ready" ? '.' : column.state[0];
    }
    auto out = draw_chart({"messages queued", short_number, 8}, backlog);
    if (ever_unhealthy) out += states + "\n";
    if (std::ranges::max(delay) >= min_charted_delay)
        out += draw_chart({"longest delay of delivered messages", wait_text, 5}, delay);
    if (link.returned() > 0) out += draw_chart({"returned to their senders", short_number, 4}, returned);
    return out + time_axis(link.columns.size(), timeline.duration());
}

bool is_noteworthy(const Timeline::Link& link) {
    return link.peak >= min_reported_backlog || link.failures > 0 || link.moved_in + link.moved_out > 0 ||
           std::ranges::any_of(link.columns, [](const ChartColumn& each) { return each.state != "ready"; });
}

std::vector<Named> links_by_peak(const Timeline& timeline) {
    std::vector<Named> out;
    for (const auto& [name, link] : timeline.links())
        if (link.accepted + link.peak > 0) out.emplace_back(name, &link);
    std::ranges::stable_sort(out, [](const Named& a, const Named& b) { return a.second->peak > b.second->peak; });
    return out;
}

// When the fault that it waited for had ended, if one had.
const TimelineEvent* last_fault_end_before(const Timeline& timeline, smtp::Duration at) {
    const TimelineEvent* last = nullptr;
    for (const auto& each : timeline.events())
        if (each.kind == EventKind::fault_ends && each.at <= at) last = &each;
    return last;
}

std::string seconds_text(smtp::Duration d) { return wait_text(std::chrono::duration<double>(d).count()); }

// Of the link that had the highest backlog.
std::string backlog_sentence(const Timeline& timeline, std::string_view name, const Timeline::Link& link) {
    auto out = fmt::format(" At most {} waited at the same time, for {}, at {}",
                           count_text(static_cast<std::int64_t>(link.peak), "message"), name, clock_text(link.peak_at));
    if (link.drained_at < link.peak_at) return out + (link.queued > 0 ? ", and that backlog was not cleared." : ".");
    out += fmt::format("; that backlog was cleared at {}", clock_text(link.drained_at));
    if (const auto* fault_end = last_fault_end_before(timeline, link.drained_at);
        fault_end && fault_end->at >= link.peak_at - smtp::Duration(std::chrono::hours(1)))
        out += fmt::format(", {} after the fault had ended", seconds_text(link.drained_at - fault_end->at));
    return out + ".";
}

} // namespace

std::size_t chart_columns(std::size_t width) { return std::clamp(width, min_width, max_width) - 12; }

std::string conclusion(const Timeline& timeline) {
    std::uint64_t in = 0, delivered = 0, returned = 0, expired = 0, no_sender = 0, notices = 0, left = 0, moved = 0;
    Timeline::Link all;
    for (const auto& [name, link] : timeline.links()) {
        in += link.accepted;
        delivered += link.delivered;
        returned += link.rejected + link.expired;
        expired += link.expired;
        no_sender += link.no_sender;
        notices += link.notices;
        left += link.queued;
        moved += link.moved_out;
        auto& delays = all.rows.emplace_back().delays;
        for (const auto& row : link.rows) delays.insert(delays.end(), row.delays.begin(), row.delays.end());
    }
    const auto messages = [](std::uint64_t n) { return count_text(static_cast<std::int64_t>(n), "message"); };
    auto out = fmt::format("Summary: in {}, {} arrived",
                           duration_text(std::chrono::duration_cast<std::chrono::seconds>(timeline.duration()).count()),
                           messages(in - std::min(in, timeline.reports())));
    if (timeline.reports() > 0)
        out += fmt::format(" and led to {} to their senders",
                           count_text(static_cast<std::int64_t>(timeline.reports()), "report"));
    out += fmt::format("; {} delivered, {} returned", delivered, returned);
    if (expired > 0) out += fmt::format(" ({} because {} expired)", expired, expired == 1 ? "it" : "they");
    if (no_sender > 0) out += fmt::format(", {} kept in bad/ because they had no sender to notify", no_sender);
    out += left == 0 ? ", and the queue is empty." : fmt::format(", and {} still wait{}.", left, left == 1 ? "s" : "");
    if (notices > 0)
        out += fmt::format(" {} of a delay.", notices == 1 ? "One sender was notified"
                                                           : std::to_string(notices) + " senders were "
                                                                                       "notified");
    if (moved > 0) out += fmt::format(" {} moved to another link while waiting.", messages(moved));
    const auto order = links_by_peak(timeline);
    if (!order.empty() && order.front().second->peak >= min_reported_backlog)
        out += backlog_sentence(timeline, order.front().first, *order.front().second);
    if (delivered > 0)
        out +=
            fmt::format(" Half of the delivered messages took at most {}, 1 % took more than {}, the longest took {}.",
                        wait_text(all.delay(0.5)), wait_text(all.delay(0.99)), wait_text(all.delay(1)));
    return out;
}

std::string report(const Timeline& timeline, std::size_t width) {
    width = std::clamp(width, min_width, max_width);
    auto out = link_table(timeline, width) + "\n";
    if (timeline.traffic().size() > 1) out += traffic_table(timeline, width) + "\n";
    out += event_list(timeline, width);
    const auto order = links_by_peak(timeline);
    std::size_t shown = 0, more = 0;
    for (const auto& [name, link] : order) {
        if (shown > 0 && !is_noteworthy(*link)) continue;
        if (shown == links_shown) {
            ++more;
            continue;
        }
        ++shown;
        out += fmt::format("\n{}\n{}\n{}\n{}", name, link_facts(*link, width), timetable(timeline, *link),
                           charts(timeline, *link));
    }
    if (more > 0) out += fmt::format("\n{} more links had smaller backlogs; --json shows all\n", more);
    return out + "\n" + wrapped(conclusion(timeline), width, "", "");
}

nlohmann::json report_json(const Timeline& timeline) {
    using nlohmann::json;
    const auto seconds = [](smtp::Duration d) { return std::chrono::duration<double>(d).count(); };
    json links = json::array(), events = json::array(), traffic = json::array();
    for (const auto& [name, of] : timeline.traffic())
        traffic.push_back({{"traffic", name},
                           {"accepted", of.accepted},
                           {"delivered", of.delivered},
                           {"returned", of.returned},
                           {"delay_median", of.delay(0.5)},
                           {"delay_99", of.delay(0.99)},
                           {"delay_longest", of.delay(1)}});
    for (const auto& [name, link] : timeline.links()) {
        json rows = json::array();
        for (const auto& row : link.rows)
            rows.push_back({{"accepted", row.accepted},
                            {"delivered", row.delivered},
                            {"returned", row.returned},
                            {"delay_notices", row.notices},
                            {"attempts", row.attempts},
                            {"failures", row.failures},
                            {"backlog", row.backlog},
                            {"backlog_highest", row.max_backlog},
                            {"delay_median", row.delay(0.5)},
                            {"delay_longest", row.delay(1)},
                            {"state", row.state}});
        links.push_back({{"link", name},
                         {"accepted", link.accepted},
                         {"delivered", link.delivered},
                         {"returned", link.returned()},
                         {"returned_refused", link.rejected},
                         {"returned_expired", link.expired},
                         {"returned_null_sender", link.no_sender},
                         {"delay_notices", link.notices},
                         {"attempts", link.attempts},
                         {"failures", link.failures},
                         {"moved_in", link.moved_in},
                         {"moved_out", link.moved_out},
                         {"queued", link.queued},
                         {"backlog_highest", link.peak},
                         {"backlog_highest_at", seconds(link.peak_at)},
                         {"delay_median", link.delay(0.5)},
                         {"delay_95", link.delay(0.95)},
                         {"delay_99", link.delay(0.99)},
                         {"delay_longest", link.delay(1)},
                         {"intervals", std::move(rows)}});
    }
    for (const auto& each : timeline.events()) {
        json event{{"at", seconds(each.at)}, {"event", name_of(each.kind)}, {"link", each.link}, {"text", each.text}};
        if (each.failures > 0) event["failures"] = each.failures;
        if (each.next > smtp::Duration{}) event["next"] = seconds(each.next);
        events.push_back(std::move(event));
    }
    return {{"version", 1},
            {"duration", seconds(timeline.duration())},
            {"interval", seconds(timeline.interval())},
            {"reports", timeline.reports()},
            {"summary", conclusion(timeline)},
            {"traffic", std::move(traffic)},
            {"links", std::move(links)},
            {"events", std::move(events)}};
}

} // namespace postrider::simulate
