#include "daemons/simulate/report/report.h"
#include "daemons/simulate/report/ascii_chart.h"
#include "daemons/common/terminal/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace postrider::simulate {

namespace {

using Named = std::pair<std::string_view, const Chronicle::Link*>;

constexpr std::size_t links_shown = 8;      // with timetable and drawings; all are in the first table
constexpr std::size_t happenings_shown = 4; // of one kind and link
constexpr double worth_drawing = 10;        // seconds of delay

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
        line += fitted(word, width - others.size());
        empty = false;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out + line + "\n";
}

std::string number_or_dash(std::uint64_t number) {
    return number == 0 ? "-" : short_number(static_cast<double>(number));
}

std::string summary(const Chronicle& chronicle, std::size_t width) {
    const auto name_width = width - 45;
    std::string out = fmt::format("{:<{}} {:>8} {:>9} {:>8} {:>8} {:>7}\n", "Link", name_width, "mail in",
                                  "delivered", "returned", "highest", "left");
    for (const auto& [name, link] : chronicle.links())
        out += fmt::format("{:<{}} {:>8} {:>9} {:>8} {:>8} {:>7}\n", fitted(name, name_width), name_width,
                           link.accepted, link.delivered, link.returned(), link.peak, link.queued);
    return out;
}

std::string fortunes(const Chronicle& chronicle, std::size_t width) {
    const auto name_width = width - 55;
    std::string out = fmt::format("{:<{}} {:>8} {:>9} {:>8} {:>12} {:>12}\n", "Traffic", name_width,
                                  "mail in", "delivered", "returned", "half within", "longest wait");
    for (const auto& [name, of] : chronicle.traffic())
        out += fmt::format("{:<{}} {:>8} {:>9} {:>8} {:>12} {:>12}\n", fitted(name, name_width), name_width,
                           of.accepted, of.delivered, of.returned, wait_text(of.delay(0.5)),
                           wait_text(of.delay(1)));
    return out;
}

std::string course(const Chronicle& chronicle, std::size_t width) {
    std::string out = "What happened:\n";
    std::map<std::pair<std::string, Event>, std::size_t> seen;
    bool any = false;
    for (const auto& each : chronicle.happenings()) {
        if (!each.brief) continue;
        any = true;
        if (each.what != Event::trouble && each.what != Event::mended &&
            ++seen[{each.link, each.what}] > happenings_shown)
            continue;
        out += wrapped(each.link.empty() ? each.text : each.link + ": " + each.text, width,
                       fmt::format("{:>9}  ", clock_text(each.at)), std::string(13, ' '));
    }
    for (const auto& [of, count] : seen)
        if (count > happenings_shown)
            out += wrapped(fmt::format("{}{}{} more of \"{}\"; --json has them all", of.first,
                                       of.first.empty() ? "" : ": ", count - happenings_shown,
                                       word_of(of.second)),
                           width, std::string(11, ' '), std::string(13, ' '));
    if (!any) out += "           nothing worth a line\n";
    return out;
}

std::string facts(const Chronicle::Link& link, std::size_t width) {
    std::string text = fmt::format("{} attempts, {} in vain", link.attempts, link.failures);
    if (link.returned() > 0)
        text += fmt::format("; {} returned, {} of them because {} time was up", link.returned(), link.expired,
                            link.expired == 1 ? "its" : "their");
    if (link.nobody_to_tell > 0) text += fmt::format("; {} had no sender to tell", link.nobody_to_tell);
    if (link.notices > 0) text += fmt::format("; {} notices of delay", link.notices);
    if (link.moved_out > 0) text += fmt::format("; {} sent another way", link.moved_out);
    if (link.moved_in > 0) text += fmt::format("; {} came over from another link", link.moved_in);
    auto out = wrapped(text + ".", width, "  ", "  ");
    if (link.delivered > 0)
        out += wrapped(fmt::format("Delay: half within {}, 95 % within {}, 99 % within {}, the longest {}.",
                                   wait_text(link.delay(0.5)), wait_text(link.delay(0.95)),
                                   wait_text(link.delay(0.99)), wait_text(link.delay(1))),
                       width, "  ", "  ");
    return out;
}

std::string timetable(const Chronicle& chronicle, const Chronicle::Link& link) {
    std::string out = fmt::format("{:>9} {:>7} {:>9} {:>8} {:>8} {:>7} {:>12}  {}\n", "until", "in",
                                  "delivered", "returned", "in vain", "backlog", "longest wait", "state");
    const auto idle = [](const Row& row) { return row.accepted + row.attempts + row.most == 0 && row.state == "ready"; };
    const auto first = std::ranges::find_if_not(link.rows, idle); // nothing to show before the first mail
    for (auto n = static_cast<std::size_t>(first - link.rows.begin()); n < link.rows.size(); ++n) {
        const auto& row = link.rows[n];
        const auto end =
            std::min(chronicle.duration(), chronicle.interval() * static_cast<std::int64_t>(n + 1));
        out += fmt::format("{:>9} {:>7} {:>9} {:>8} {:>8} {:>7} {:>12}  {}\n", clock_text(end),
                           number_or_dash(row.accepted), number_or_dash(row.delivered),
                           number_or_dash(row.returned), number_or_dash(row.failures),
                           number_or_dash(row.backlog),
                           row.delays.empty() ? std::string("-") : wait_text(row.delay(1)), row.state);
    }
    return out;
}

std::string drawings(const Chronicle& chronicle, const Chronicle::Link& link) {
    std::vector<double> backlog, delay, returned;
    std::string states(12, ' ');
    states.replace(5, 5, "state");
    bool ever_ill = false;
    for (const auto& column : link.columns) {
        backlog.push_back(static_cast<double>(column.most));
        delay.push_back(column.longest);
        returned.push_back(static_cast<double>(column.returned));
        ever_ill |= column.state != "ready";
        states += column.state == "ready" ? '.' : column.state[0];
    }
    auto out = draw({"messages queued", short_number, 8}, backlog);
    if (ever_ill) out += states + "\n";
    if (std::ranges::max(delay) >= worth_drawing)
        out += draw({"longest delay of what was delivered", wait_text, 5}, delay);
    if (link.returned() > 0) out += draw({"returned to their senders", short_number, 4}, returned);
    return out + time_axis(link.columns.size(), chronicle.duration());
}

bool has_a_story(const Chronicle::Link& link) {
    return link.peak >= noteworthy || link.failures > 0 || link.moved_in + link.moved_out > 0 ||
           std::ranges::any_of(link.columns, [](const Column& each) { return each.state != "ready"; });
}

std::vector<Named> fullest_first(const Chronicle& chronicle) {
    std::vector<Named> out;
    for (const auto& [name, link] : chronicle.links())
        if (link.accepted + link.peak > 0) out.emplace_back(name, &link);
    std::ranges::stable_sort(out,
                             [](const Named& a, const Named& b) { return a.second->peak > b.second->peak; });
    return out;
}

// When the trouble that it waited for had ended, if one had.
const Happening* mended_before(const Chronicle& chronicle, smtp::Duration at) {
    const Happening* last = nullptr;
    for (const auto& each : chronicle.happenings())
        if (each.what == Event::mended && each.at <= at) last = &each;
    return last;
}

std::string seconds_text(smtp::Duration d) { return wait_text(std::chrono::duration<double>(d).count()); }

// Of the link that had the highest backlog.
std::string of_the_backlog(const Chronicle& chronicle, std::string_view name, const Chronicle::Link& link) {
    auto out = fmt::format(" At most {} waited at a time, for {}, at {}",
                           count_text(static_cast<std::int64_t>(link.peak), "message"), name,
                           clock_text(link.peak_at));
    if (link.drained_at < link.peak_at)
        return out + (link.queued > 0 ? ", and that backlog is not gone." : ".");
    out += fmt::format("; all of them were gone at {}", clock_text(link.drained_at));
    if (const auto* mended = mended_before(chronicle, link.drained_at);
        mended && mended->at >= link.peak_at - smtp::Duration(std::chrono::hours(1)))
        out += fmt::format(", {} after the trouble had ended", seconds_text(link.drained_at - mended->at));
    return out + ".";
}

} // namespace

std::size_t columns_within(std::size_t width) { return std::clamp(width, narrowest, widest) - 12; }

std::string in_short(const Chronicle& chronicle) {
    std::uint64_t in = 0, delivered = 0, returned = 0, expired = 0, kept = 0, notices = 0, left = 0,
                  moved = 0;
    Chronicle::Link all;
    for (const auto& [name, link] : chronicle.links()) {
        in += link.accepted;
        delivered += link.delivered;
        returned += link.refused + link.expired;
        expired += link.expired;
        kept += link.nobody_to_tell;
        notices += link.notices;
        left += link.queued;
        moved += link.moved_out;
        auto& delays = all.rows.emplace_back().delays;
        for (const auto& row : link.rows) delays.insert(delays.end(), row.delays.begin(), row.delays.end());
    }
    const auto messages = [](std::uint64_t n) { return count_text(static_cast<std::int64_t>(n), "message"); };
    auto out = fmt::format(
        "In short: in {}, {} came in",
        duration_text(std::chrono::duration_cast<std::chrono::seconds>(chronicle.duration()).count()),
        messages(in - std::min(in, chronicle.reports())));
    if (chronicle.reports() > 0)
        out += fmt::format(" and {} to their senders came of them",
                           count_text(static_cast<std::int64_t>(chronicle.reports()), "report"));
    out += fmt::format("; {} delivered, {} returned", delivered, returned);
    if (expired > 0)
        out += fmt::format(" ({} because {} time was up)", expired, expired == 1 ? "its" : "their");
    if (kept > 0) out += fmt::format(", {} kept in bad/ for want of a sender to tell", kept);
    out += left == 0 ? ", and nothing is left."
                     : fmt::format(", and {} still wait{}.", left, left == 1 ? "s" : "");
    if (notices > 0)
        out += fmt::format(" {} told of a delay.",
                           notices == 1 ? "One sender is" : std::to_string(notices) + " senders are");
    if (moved > 0) out += fmt::format(" {} went over to another link while waiting.", messages(moved));
    const auto order = fullest_first(chronicle);
    if (!order.empty() && order.front().second->peak >= noteworthy)
        out += of_the_backlog(chronicle, order.front().first, *order.front().second);
    if (delivered > 0)
        out += fmt::format(
            " Half of what was delivered took {} at most, one in a hundred more than {}, the longest {}.",
            wait_text(all.delay(0.5)), wait_text(all.delay(0.99)), wait_text(all.delay(1)));
    return out;
}

std::string report(const Chronicle& chronicle, std::size_t width) {
    width = std::clamp(width, narrowest, widest);
    auto out = summary(chronicle, width) + "\n";
    if (chronicle.traffic().size() > 1) out += fortunes(chronicle, width) + "\n";
    out += course(chronicle, width);
    const auto order = fullest_first(chronicle);
    std::size_t shown = 0, more = 0;
    for (const auto& [name, link] : order) {
        if (shown > 0 && !has_a_story(*link)) continue;
        if (shown == links_shown) {
            ++more;
            continue;
        }
        ++shown;
        out += fmt::format("\n{}\n{}\n{}\n{}", name, facts(*link, width), timetable(chronicle, *link),
                           drawings(chronicle, *link));
    }
    if (more > 0) out += fmt::format("\n{} more links had less that waited; --json has them all\n", more);
    return out + "\n" + wrapped(in_short(chronicle), width, "", "");
}

nlohmann::json report_json(const Chronicle& chronicle) {
    using nlohmann::json;
    const auto seconds = [](smtp::Duration d) { return std::chrono::duration<double>(d).count(); };
    json links = json::array(), events = json::array(), traffic = json::array();
    for (const auto& [name, of] : chronicle.traffic())
        traffic.push_back({{"traffic", name},
                           {"accepted", of.accepted},
                           {"delivered", of.delivered},
                           {"returned", of.returned},
                           {"delay_median", of.delay(0.5)},
                           {"delay_99", of.delay(0.99)},
                           {"delay_longest", of.delay(1)}});
    for (const auto& [name, link] : chronicle.links()) {
        json rows = json::array();
        for (const auto& row : link.rows)
            rows.push_back({{"accepted", row.accepted},
                            {"delivered", row.delivered},
                            {"returned", row.returned},
                            {"notices", row.notices},
                            {"attempts", row.attempts},
                            {"failures", row.failures},
                            {"backlog", row.backlog},
                            {"backlog_highest", row.most},
                            {"delay_median", row.delay(0.5)},
                            {"delay_longest", row.delay(1)},
                            {"state", row.state}});
        links.push_back({{"link", name},
                         {"accepted", link.accepted},
                         {"delivered", link.delivered},
                         {"returned", link.returned()},
                         {"returned_refused", link.refused},
                         {"returned_expired", link.expired},
                         {"returned_nobody", link.nobody_to_tell},
                         {"notices", link.notices},
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
    for (const auto& each : chronicle.happenings()) {
        json event{{"at", seconds(each.at)},
                   {"event", word_of(each.what)},
                   {"link", each.link},
                   {"text", each.text}};
        if (each.failures > 0) event["failures"] = each.failures;
        if (each.next > smtp::Duration{}) event["next"] = seconds(each.next);
        events.push_back(std::move(event));
    }
    return {{"version", 1},
            {"duration", seconds(chronicle.duration())},
            {"interval", seconds(chronicle.interval())},
            {"reports", chronicle.reports()},
            {"summary", in_short(chronicle)},
            {"traffic", std::move(traffic)},
            {"links", std::move(links)},
            {"events", std::move(events)}};
}

} // namespace postrider::simulate
