#include "daemons/simulate/from_log/comparison.h"
#include "daemons/common/terminal/text.h"
#include "daemons/simulate/report/ascii_chart.h"
#include "daemons/simulate/report/report.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace postrider::simulate::from_log {

namespace {

constexpr std::size_t domains_shown = 12;

// The result of a group according to the log, in the terms of the simulation.
TrafficStats by_the_log(const MailLog& log, const TrafficGroups::Group& group) {
    TrafficStats out;
    for (const auto n : group.recipients) {
        const auto& each = log.recipients()[n];
        ++out.accepted;
        if (each.state == Recipient::State::returned) ++out.returned;
        if (each.state != Recipient::State::delivered) continue;
        ++out.delivered;
        out.delays.push_back(std::chrono::duration<float>(each.delay).count());
    }
    return out;
}

TrafficStats simulated(const Timeline& timeline, const std::string& group) {
    const auto found = timeline.traffic().find(group);
    return found == timeline.traffic().end() ? TrafficStats() : found->second;
}

void add(TrafficStats& to, const TrafficStats& more) {
    to.accepted += more.accepted;
    to.delivered += more.delivered;
    to.returned += more.returned;
    to.delays.insert(to.delays.end(), more.delays.begin(), more.delays.end());
}

std::uint64_t waiting(const TrafficStats& of) {
    return of.accepted - std::min(of.accepted, of.delivered + of.returned);
}

std::string wait(const TrafficStats& of, double quantile) {
    return of.delivered == 0 ? "-" : wait_text(of.delay(quantile));
}

nlohmann::json json_of(const TrafficStats& of) {
    return {{"accepted", of.accepted},    {"delivered", of.delivered},     {"returned", of.returned},
            {"waiting", waiting(of)},     {"delay_median", of.delay(0.5)}, {"delay_95", of.delay(0.95)},
            {"delay_99", of.delay(0.99)}, {"delay_longest", of.delay(1)}};
}

} // namespace

std::string comparison(const MailLog& log, const TrafficGroups& groups, const Timeline& timeline, std::size_t width) {
    width = std::clamp(width, min_width, max_width);
    TrafficStats was, would;
    std::string rows;
    const auto name_width = width - 57;
    std::size_t shown = 0;
    for (const auto& group : groups.groups()) {
        const auto log_says = by_the_log(log, group), played_out = simulated(timeline, group.name);
        add(was, log_says);
        add(would, played_out);
        if (++shown > domains_shown) continue;
        rows += fmt::format("{:<{}} {:>8} {:>10} {:>10} {:>12} {:>12}\n", truncated(group.name, name_width), name_width,
                            log_says.accepted, log_says.delivered, played_out.delivered, wait(log_says, 0.95),
                            wait(played_out, 0.95));
    }
    std::string out = fmt::format("{:<30} {:>12} {:>12}\n", "Total", "log", "simulated");
    const auto line = [&](std::string_view what, const std::string& a, const std::string& b) {
        out += fmt::format("{:<30} {:>12} {:>12}\n", what, a, b);
    };
    line("mail in", std::to_string(was.accepted), std::to_string(would.accepted));
    line("delivered", std::to_string(was.delivered), std::to_string(would.delivered));
    line("returned", std::to_string(was.returned), std::to_string(would.returned));
    line("still queued", std::to_string(waiting(was)), std::to_string(waiting(would)));
    line("delay: median", wait(was, 0.5), wait(would, 0.5));
    line("delay: 95 %", wait(was, 0.95), wait(would, 0.95));
    line("delay: 99 %", wait(was, 0.99), wait(would, 0.99));
    line("delay: longest", wait(was, 1), wait(would, 1));
    out += fmt::format("\n{:<{}} {:>8} {:>21} {:>25}\n", "", name_width, "", "delivered", "delay: 95 %");
    out += fmt::format("{:<{}} {:>8} {:>10} {:>10} {:>12} {:>12}\n", "Recipient domain", name_width, "mail in", "log",
                       "simulated", "log", "simulated");
    out += rows;
    if (shown > domains_shown) out += fmt::format("{} more; --json lists all\n", shown - domains_shown);
    return out;
}

nlohmann::json comparison_json(const MailLog& log, const TrafficGroups& groups, const Timeline& timeline) {
    TrafficStats was, would;
    nlohmann::json domains = nlohmann::json::array();
    for (const auto& group : groups.groups()) {
        const auto log_says = by_the_log(log, group), played_out = simulated(timeline, group.name);
        add(was, log_says);
        add(would, played_out);
        domains.push_back({{"traffic", group.name}, {"log", json_of(log_says)}, {"simulated", json_of(played_out)}});
    }
    return {{"log", json_of(was)}, {"simulated", json_of(would)}, {"traffic", std::move(domains)}};
}

} // namespace postrider::simulate::from_log
