#include "daemons/simulate/scenario/scenario.h"
#include "daemons/common/text/units.h"
#include "daemons/simulate/scenario/stages.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider::simulate {

namespace {

std::string_view word_of(smtp::Stage stage) {
    const auto* word = std::ranges::find(stages, stage, &config::EnumValue<smtp::Stage>::value);
    return word == std::end(stages) ? "" : word->name;
}

} // namespace

std::string HostName::to_string() const {
    if (port == 0) return name;
    return name.find(':') == name.npos ? fmt::format("{}:{}", name, port) : fmt::format("[{}]:{}", name, port);
}

std::optional<Reply> Reply::parse(std::string_view line) {
    Reply out;
    const auto digits = [](std::string_view text) { return text.find_first_not_of("0123456789") == text.npos; };
    const auto printable = [](unsigned char c) { return c >= 0x20 && c != 0x7f; };
    if (line.size() < 3 || line.size() > 500 || (line[0] != '4' && line[0] != '5') || !digits(line.substr(0, 3)) ||
        (line.size() > 3 && line[3] != ' ') || !std::ranges::all_of(line, printable))
        return {};
    out.code = (line[0] - '0') * 100 + (line[1] - '0') * 10 + (line[2] - '0');
    line.remove_prefix(std::min<std::size_t>(line.size(), 4));
    const auto word = line.substr(0, line.find(' '));
    if (word.size() >= 5 && word[0] == (out.code < 500 ? '4' : '5') && word[1] == '.' &&
        word.find_first_not_of("0123456789.") == word.npos) {
        out.status = word;
        line.remove_prefix(std::min(line.size(), word.size() + 1));
    }
    out.text = line;
    return out;
}

std::string Reply::line() const {
    std::string out = std::to_string(code);
    if (!status.empty()) out += " " + status;
    if (!text.empty()) out += " " + text;
    return out;
}

bool Fault::applies_to(std::string_view host, std::uint16_t port) const {
    return std::ranges::any_of(hosts, [&](const HostName& each) { return each.covers(host, port); });
}

std::string Fault::targets() const {
    std::string out;
    for (const auto& host : hosts) out += (out.empty() ? "" : ", ") + host.to_string();
    for (const auto& domain : domains) out += (out.empty() ? "" : ", ") + domain;
    return out;
}

std::string Fault::description() const {
    const auto some = share < 1 ? fmt::format(" ({:.0f} % of the time)", share * 100) : "";
    switch (kind) {
    case FaultKind::refuses: return "refuses connections" + some;
    case FaultKind::silent:
        return (at == smtp::Stage::connect ? std::string("does not answer")
                                           : fmt::format("stops replying at {}", word_of(at))) +
               some;
    case FaultKind::replies: return fmt::format("replies \"{}\" at {}{}", reply.line(), word_of(at), some);
    case FaultKind::drops: return fmt::format("closes the connection at {}{}", word_of(at), some);
    case FaultKind::slow: return fmt::format("takes {} for a message{}", config::print_duration(transaction), some);
    case FaultKind::no_dns: return "cannot be looked up";
    case FaultKind::no_name: return "does not exist";
    }
    return "";
}

const Host& Scenario::host(std::string_view name, std::uint16_t port) const {
    static const Host usual;
    const auto found = std::ranges::find_if(hosts, [&](const Host& h) { return h.name.covers(name, port); });
    return found == hosts.end() ? usual : *found;
}

const Domain* Scenario::domain(std::string_view name) const {
    const auto found = std::ranges::find(domains, name, &Domain::name);
    return found == domains.end() ? nullptr : &*found;
}

} // namespace postrider::simulate
