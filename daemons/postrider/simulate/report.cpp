#include "daemons/postrider/simulate/report.h"
#include "daemons/postrider/simulate/plot.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace postrider::simulate {

namespace {

std::vector<Happening> in_order(const Chronicle& chronicle) {
    auto happenings = chronicle.happenings();
    std::ranges::stable_sort(happenings, {}, &Happening::at);
    return happenings;
}

double longest_delay(const Chronicle::Link& link) {
    double longest = 0;
    for (const auto& row : link.rows) longest = std::max(longest, row.delay(1));
    return longest;
}

std::string summary(const Chronicle& chronicle) {
    std::string out = fmt::format("{:<34} {:>9} {:>9} {:>8} {:>8} {:>9} {:>9}  {}\n", "Link", "mail in",
                                  "delivered", "returned", "notices", "highest", "left", "longest delay");
    for (const auto& [name, link] : chronicle.links())
        out += fmt::format("{:<34} {:>9} {:>9} {:>8} {:>8} {:>9} {:>9}  {}\n", name, link.accepted,
                           link.delivered, link.reports, link.notices, link.peak, link.queued,
                           wait_text(longest_delay(link)));
    return out;
}

std::string course(const Chronicle& chronicle) {
    std::string out = "What happened:\n";
    for (const auto& each : in_order(chronicle))
        out += fmt::format("{:>10}  {}{}{}\n", clock_text(each.at), each.link, each.link.empty() ? "" : ": ",
                           each.what);
    if (chronicle.happenings().empty()) out += "            nothing worth a line\n";
    return out;
}

std::string timetable(const Chronicle& chronicle, const Chronicle::Link& link) {
    std::string out =
        fmt::format("{:>10} {:>8} {:>9} {:>8} {:>8} {:>8} {:>12} {:>12}  {}\n", "until", "in", "delivered",
                    "returned", "failures", "backlog", "median delay", "longest", "state");
    for (std::size_t n = 0; n < link.rows.size(); ++n) {
        const auto& row = link.rows[n];
        const auto end =
            std::min(chronicle.duration(), chronicle.interval() * static_cast<std::int64_t>(n + 1));
        const auto delay = [&](double q) {
            return row.delays.empty() ? std::string("-") : wait_text(row.delay(q));
        };
        out += fmt::format("{:>10} {:>8} {:>9} {:>8} {:>8} {:>8} {:>12} {:>12}  {}\n", clock_text(end),
                           row.accepted, row.delivered, row.reports, row.tries_failed, row.backlog,
                           delay(0.5), delay(1), row.state);
    }
    return out;
}

std::string drawings(const Chronicle& chronicle, const Chronicle::Link& link) {
    std::vector<double> backlog, delay, reports;
    std::string states(12, ' ');
    states.replace(5, 5, "state");
    bool ever_ill = false;
    for (const auto& column : link.columns) {
        backlog.push_back(static_cast<double>(column.most));
        delay.push_back(column.delay(1));
        reports.push_back(static_cast<double>(column.reports));
        ever_ill |= column.state != "ready";
        states += column.state == "ready" ? '.' : column.state[0];
    }
    auto out = draw({"messages queued", short_number, 8}, backlog);
    if (ever_ill) out += states + "\n";
    out += draw({"longest delay of what was delivered", wait_text, 5}, delay);
    if (link.reports > 0) out += draw({"returned to their senders", short_number, 4}, reports);
    return out + time_axis(link.columns.size(), chronicle.duration());
}

} // namespace

std::string report(const Chronicle& chronicle) {
    auto out = summary(chronicle) + "\n" + course(chronicle);
    for (const auto& [name, link] : chronicle.links()) {
        if (link.accepted == 0 && link.peak == 0) continue;
        out += fmt::format("\n{}\n\n{}\n{}", name, timetable(chronicle, link), drawings(chronicle, link));
    }
    return out;
}

nlohmann::json report_json(const Chronicle& chronicle) {
    using nlohmann::json;
    const auto seconds = [](smtp::Duration d) { return std::chrono::duration<double>(d).count(); };
    json links = json::array(), events = json::array();
    for (const auto& [name, link] : chronicle.links()) {
        json rows = json::array();
        for (const auto& row : link.rows)
            rows.push_back({{"accepted", row.accepted},
                            {"delivered", row.delivered},
                            {"returned", row.reports},
                            {"notices", row.notices},
                            {"failures", row.tries_failed},
                            {"backlog", row.backlog},
                            {"backlog_highest", row.most},
                            {"delay_median", row.delay(0.5)},
                            {"delay_longest", row.delay(1)},
                            {"state", row.state.empty() ? link.state : row.state}});
        links.push_back({{"link", name},
                         {"accepted", link.accepted},
                         {"delivered", link.delivered},
                         {"returned", link.reports},
                         {"notices", link.notices},
                         {"failures", link.tries_failed},
                         {"queued", link.queued},
                         {"backlog_highest", link.peak},
                         {"backlog_highest_at", seconds(link.peak_at)},
                         {"delay_longest", longest_delay(link)},
                         {"intervals", std::move(rows)}});
    }
    for (const auto& each : in_order(chronicle))
        events.push_back({{"at", seconds(each.at)}, {"link", each.link}, {"what", each.what}});
    return {{"version", 1},
            {"duration", seconds(chronicle.duration())},
            {"interval", seconds(chronicle.interval())},
            {"links", std::move(links)},
            {"events", std::move(events)}};
}

} // namespace postrider::simulate
