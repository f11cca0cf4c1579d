#include "daemons/simulate/from_log/scenario_text.h"
#include "daemons/common/config/schema/key.h"
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/net/network.h"
#include "daemons/common/terminal/text.h"
#include "daemons/common/text/units.h"
#include "daemons/simulate/from_log/incidents.h"
#include "daemons/simulate/report/ascii_chart.h"
#include "daemons/simulate/scenario/stages.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <unordered_map>

namespace postrider::simulate::from_log {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_troubles = 200;

// A basic string of TOML.
std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (const char c : smtp::printable(text, 500)) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

std::string list(const std::vector<std::string>& words) {
    std::string out;
    for (const auto& word : words) out += (out.empty() ? "" : ", ") + in_quotes(word);
    return "[" + out + "]";
}

// "22h59m45s", "50ms"
std::string span(smtp::Duration d) {
    std::string out;
    for (const smtp::Duration unit : {smtp::Duration(1h), smtp::Duration(1min)})
        if (d >= unit && d % 1s == 0s) {
            out += config::print_duration(d / unit * unit);
            d %= unit;
        }
    return in_quotes(out.empty() || d > 0s ? out + config::print_duration(d) : out);
}

float median(std::vector<float> samples) {
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::ranges::nth_element(samples, middle);
    return *middle;
}

std::string time_of_day(smtp::Duration at) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at).count();
    const auto minutes = fmt::format("{}:{:02}", seconds / 3600, seconds / 60 % 60);
    return seconds % 60 == 0 ? minutes : fmt::format("{}:{:02}", minutes, seconds % 60);
}

// "0:02:26 0:02:30x2 …", in lines of about 100 characters.
std::string arrivals(const MailLog& log, const TrafficGroups::Group& group) {
    std::string out;
    const auto second_of = [&](std::uint32_t n) {
        return std::chrono::floor<std::chrono::seconds>(log.recipients()[n].arrival);
    };
    std::size_t line = 0;
    for (std::size_t at = 0; at < group.recipients.size();) {
        const auto when = second_of(group.recipients[at]);
        std::size_t times = 1;
        while (at + times < group.recipients.size() && second_of(group.recipients[at + times]) == when) ++times;
        at += times;
        const auto word = time_of_day(when) + (times > 1 ? fmt::format("x{}", times) : "");
        if (line + word.size() > 100) {
            out += '\n';
            line = 0;
        } else if (line > 0) {
            out += ' ';
        }
        out += word;
        line += word.size() + 1;
    }
    return out;
}

std::string traffic(const MailLog& log, const TrafficGroups::Group& group) {
    std::vector<std::string> domains;
    for (const auto each : group.domains) domains.push_back(log.domains()[each].name);
    std::unordered_map<std::string_view, std::uint64_t> senders;
    std::uint64_t bytes = 0, sized = 0;
    for (const auto n : group.recipients) {
        const auto& message = log.messages()[log.recipients()[n].message];
        if (message.sender_known) ++senders[message.sender];
        if (message.size > 0) {
            bytes += message.size;
            ++sized;
        }
    }
    auto out = fmt::format("[traffic.{}]\ndomains = {}\nprofile = \"listed\"\n", in_quotes(group.name), list(domains));
    if (sized > 0) out += fmt::format("size = {}\n", std::max<std::uint64_t>(bytes / sized, 1));
    if (group.null_sender) {
        out += "sender = \"<>\"\n";
    } else if (!senders.empty()) {
        const auto often = std::ranges::max_element(senders, {}, [](auto& each) { return each.second; });
        const auto at = often->first.rfind('@');
        if (at != 0 && at != often->first.npos && !config::domain_name(often->first.substr(at + 1)).empty() &&
            often->first == smtp::printable(often->first, 500))
            out += fmt::format("sender = {}\n", in_quotes(often->first));
        if (senders.size() > 1) out += fmt::format("senders = {}\n", std::min<std::size_t>(senders.size(), 1'000'000));
    }
    return out + fmt::format("arrivals = \"\"\"\n{}\"\"\"\n\n", arrivals(log, group));
}

std::string host(std::string_view name, const HostRecord& record) {
    std::string out;
    const auto time = [&](std::string_view key, const std::vector<float>& samples) {
        if (samples.empty()) return;
        const auto value = std::chrono::round<std::chrono::milliseconds>(std::chrono::duration<float>(median(samples)));
        out += fmt::format("{} = {}\n", key, span(std::clamp<smtp::Duration>(value, 1ms, 10min)));
    };
    time("connect", record.connects);
    time("transaction", record.transmissions);
    if (record.unknown_users > 0)
        out += fmt::format("unknown = {:.4f}\n",
                           std::min(1.0, static_cast<double>(record.unknown_users) /
                                             static_cast<double>(std::max<std::uint64_t>(record.recipients, 1))));
    if (const auto least = record.max_rejected_wait; least > 0s) {
        const auto taken = record.min_accepted_wait;
        const auto wait = taken > least ? least + (taken - least) / 2 : least;
        out += fmt::format("greylist = {}\n",
                           span(std::min<smtp::Duration>(std::chrono::ceil<std::chrono::seconds>(wait), 24h)));
    }
    return out.empty() ? out : fmt::format("[host.{}]\n{}\n", in_quotes(name), out);
}

struct Named {
    Incident incident;
    std::string hosts, domains; // one of them
};

std::string fault(const Named& each, std::size_t number) {
    const auto& t = each.incident.fault;
    auto out = fmt::format("[fault.log-{}]\n", number);
    out += each.hosts.empty() ? fmt::format("domains = [{}]\n", in_quotes(each.domains))
                              : fmt::format("hosts = [{}]\n", in_quotes(each.hosts));
    const auto stage = std::ranges::find(stages, t.at, &config::EnumValue<smtp::Stage>::value);
    const auto at = stage == std::end(stages) ? std::string_view("END") : stage->name;
    switch (t.kind) {
    case FaultKind::refuses: out += "how = \"refuses\"\n"; break;
    case FaultKind::silent: out += fmt::format("how = \"silent\"\nat = \"{}\"\n", at); break;
    case FaultKind::drops: out += fmt::format("how = \"drops\"\nat = \"{}\"\n", at); break;
    case FaultKind::replies:
        out += fmt::format("how = \"replies\"\nat = \"{}\"\nreply = {}\n", at, in_quotes(t.reply.line()));
        break;
    case FaultKind::no_name: out += "how = \"no_name\"\n"; break;
    default: out += "how = \"no_dns\"\n";
    }
    if (t.share < 1) out += fmt::format("share = {:.4f}\n", std::max(t.share, 0.0001));
    return out + fmt::format("from = {}\nlasts = {}\n\n", span(t.from), span(t.duration));
}

std::vector<Named> all_incidents(const MailLog& log, smtp::Duration whole) {
    std::vector<Named> out;
    for (const auto& [name, record] : log.hosts())
        for (auto& found : find_incidents(record, whole)) out.push_back({std::move(found), name, ""});
    for (const auto& domain : log.domains())
        for (auto& found : find_incidents(domain.lookups, whole))
            if (found.fault.share >= 0.5) {
                found.fault.share = 1; // a lookup fault has no share
                out.push_back({std::move(found), "", domain.name});
            }
    if (out.size() > most_troubles) { // keep those with the most failures
        std::ranges::stable_sort(out, std::greater(), [](const Named& each) { return each.incident.failures; });
        out.resize(most_troubles);
    }
    std::ranges::stable_sort(
        out, {}, [](const Named& each) { return std::pair(each.incident.fault.duration, each.incident.fault.from); });
    return out;
}

// The hosts that the mail for a domain went to, as its MX hosts; the most used one first.
std::string domain(const Domain& of) {
    std::vector<std::pair<std::uint64_t, std::string>> hosts;
    for (const auto& [name, count] : of.hosts)
        if (config::domain_name(name) == name && name.find(':') == name.npos && !common::IpAddress::parse(name))
            hosts.emplace_back(count, name);
    if (hosts.empty()) return "";
    std::ranges::stable_sort(hosts, std::greater(), &std::pair<std::uint64_t, std::string>::first);
    std::vector<std::string> names;
    for (auto& each : hosts) names.push_back(std::move(each.second));
    return fmt::format("[domain.{}]\nmx = {}\n\n", in_quotes(of.name), list(names));
}

} // namespace

std::string scenario_text(const MailLog& log, const TrafficGroups& groups, std::string_view file) {
    const auto whole = std::clamp<smtp::Duration>(std::chrono::ceil<std::chrono::minutes>(log.last() + 1s),
                                                  min_duration, max_duration);
    std::string out;
    const auto summary = summary_of(log, groups, file);
    for (std::size_t at = 0; at < summary.size();) {
        const auto end = std::min(summary.find('\n', at), summary.size());
        out += "# " + summary.substr(at, end - at) + "\n";
        at = end + 1;
    }
    out += fmt::format("\n[world]\nduration = {}\n\n", span(whole));
    for (const auto& group : groups.groups()) out += traffic(log, group);
    std::set<std::uint32_t> done;
    for (const auto& group : groups.groups())
        if (group.domains.size() == 1 && done.insert(group.domains.front()).second) // merged domains have no section
            out += domain(log.domains()[group.domains.front()]);
    for (const auto& [name, record] : log.hosts()) out += host(name, record);
    std::size_t number = 0;
    for (const auto& each : all_incidents(log, whole)) out += fault(each, ++number);
    return out;
}

std::string summary_of(const MailLog& log, const TrafficGroups& groups, std::string_view file) {
    const auto& counts = log.counts();
    std::uint64_t recipients = 0;
    for (const auto& group : groups.groups()) recipients += group.recipients.size();
    const auto number = [](std::uint64_t n, std::string_view what) {
        return count_text(static_cast<std::int64_t>(n), what);
    };
    auto out = fmt::format("{}: {} starting {} {}, {} about deliveries; {}\n", smtp::printable(file, 200),
                           number(counts.lines, "line"), log.day(), clock_text(log.first()), counts.relevant,
                           number(recipients, "recipient"));
    const auto line = [&](std::uint64_t count, std::string_view what, std::string_view rest) {
        if (count > 0) out += fmt::format("{}: {}\n", number(count, what), rest);
    };
    line(counts.older, "recipient",
         "the message arrived before the start of the log; simulated as arriving "
         "at its start");
    line(groups.reports(), "delivery report", "not simulated as incoming mail; the simulation generates its own");
    line(groups.requeued(), "recipient", "requeued under another id, by a content filter for example; simulated once");
    line(counts.over_limit, "line", "about recipients beyond the limit for one log; not simulated");
    if (counts.unsupported > 0)
        line(counts.unsupported, "failure",
             fmt::format("cannot be expressed in a scenario; the first: {}",
                         smtp::printable(counts.unsupported_text, 120)));
    return out;
}

} // namespace postrider::simulate::from_log
