#include "daemons/postrider/simulate/scenario.h"
#include "daemons/common/config/kinds.h"
#include "daemons/common/config/toml_reader.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <iterator>

namespace postrider::simulate {

using namespace std::chrono_literals;
using config::Count;
using config::Fraction;
using config::Section;
using config::Span;
using config::Text;

namespace {

constexpr std::size_t longest_file = 1024 * 1024;
constexpr double most_messages = 5'000'000;

// "mx.example.org", "mx.example.org:2525", "[192.0.2.1]:25", "[2001:db8::1]".
std::string read_host(std::string_view text, HostName& host) {
    const auto bad = [&] {
        return fmt::format("\"{}\" is not a host; write \"mx.example.org\" or \"[192.0.2.1]:2525\"", text);
    };
    std::string_view name = text, port;
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == text.npos) return bad();
        name = text.substr(1, end - 1);
        port = text.substr(end + 1);
    } else if (const auto colon = text.find(':'); colon != text.npos) {
        name = text.substr(0, colon);
        port = text.substr(colon);
    }
    host.name = config::domain_name(name);
    if (host.name.empty() && common::IpAddress::parse(name)) host.name = std::string(name);
    if (host.name.empty()) return bad();
    if (port.empty()) return "";
    const auto* end = port.data() + port.size();
    const auto [stop, error] = std::from_chars(port.data() + 1, end, host.port);
    if (port[0] != ':' || error != std::errc() || stop != end || host.port == 0) return bad();
    return "";
}

constexpr config::Word<decide::queue::Lane> lanes[] = {{"high", decide::queue::Lane::high},
                                                       {"normal", decide::queue::Lane::normal},
                                                       {"bulk", decide::queue::Lane::bulk}};
constexpr config::Word<Ailment> ailments[] = {{"refuses", Ailment::refuses}, {"silent", Ailment::silent},
                                              {"busy", Ailment::busy},       {"defers", Ailment::defers},
                                              {"rejects", Ailment::rejects}, {"drops", Ailment::drops},
                                              {"no_dns", Ailment::no_dns}};

constexpr auto longest = 400 * 24h;

Section table_of(Scenario& s) {
    return {"world",
            "",
            {{"duration", Span{&s.duration, 1min, longest}, "", ""},
             {"interval", Span{&s.interval, 1s, longest}, "", ""},
             {"seed", Count{&s.seed, 0, 1'000'000'000}, "", ""}}};
}
Section table_of(Traffic& t) {
    return {"traffic.<name>",
            "",
            {{"domains", config::domains(t.domains), "", ""},
             {"messages", Count{&t.messages, 1, 100'000'000}, "", ""},
             {"from", Span{&t.from, 0s, longest}, "", ""},
             {"until", Span{&t.until, 0s, longest}, "", ""},
             {"lane", config::one_of(t.lane, lanes), "", ""}}};
}
Section table_of(Host& h) {
    return {"host.\"<name>\"",
            "",
            {{"connect", Span{&h.connect, 1ms, 10min}, "", ""},
             {"transaction", Span{&h.transaction, 1ms, 10min}, "", ""},
             {"connections", Count{&h.connections, 0, 100'000}, "", ""},
             {"unknown", Fraction{&h.unknown}, "", ""},
             {"greylist", Span{&h.greylist, 0s, 24h}, "", ""}}};
}
Section table_of(Domain& d) { return {"domain.\"<name>\"", "", {{"mx", config::domains(d.mx), "", ""}}}; }
Section table_of(Trouble& t) {
    return {"trouble.<name>",
            "",
            {{"hosts", config::list_of<HostName>(t.hosts, read_host), "", ""},
             {"domains", config::domains(t.domains), "", ""},
             {"how", config::one_of(t.how, ailments), "", ""},
             {"from", Span{&t.from, 0s, longest}, "", ""},
             {"lasts", Span{&t.lasts, 1s, longest}, "", ""}}};
}

using config::NamedSections;
using Fill = NamedSections::Fill;

class Reader {
public:
    explicit Reader(std::string_view file) : toml_(file) {}
    std::expected<Scenario, std::vector<config::Problem>> read(std::string_view text);

private:
    void host(const std::string& word, const std::string& path, const Fill& fill);
    void domain(const std::string& word, const std::string& path, const Fill& fill);
    void traffic(const std::string& word, const std::string& path, const Fill& fill);
    void trouble(const std::string& word, const std::string& path, const Fill& fill);
    void nobody(const std::string& path, std::string_view key, std::string_view question);
    void check();

    config::TomlReader toml_;
    Scenario scenario_;
};

void Reader::host(const std::string& word, const std::string& path, const Fill& fill) {
    Host host;
    if (const auto wrong = read_host(word, host.name); !wrong.empty()) toml_.problem_at(path, wrong);
    fill(table_of(host));
    scenario_.hosts.push_back(std::move(host));
}

void Reader::domain(const std::string& word, const std::string& path, const Fill& fill) {
    Domain domain;
    domain.name = config::domain_name(word);
    if (domain.name.empty()) toml_.problem_at(path, fmt::format("{}: not a domain", path));
    fill(table_of(domain));
    scenario_.domains.push_back(std::move(domain));
}

void Reader::traffic(const std::string& word, const std::string& path, const Fill& fill) {
    Traffic traffic;
    traffic.name = word;
    fill(table_of(traffic));
    if (traffic.domains.empty()) nobody(path, "domains", "whom is the mail for?");
    if (traffic.until != 0s && traffic.until <= traffic.from)
        toml_.problem_at(path + ".until", fmt::format("{}: until must be later than from", path));
    scenario_.traffic.push_back(std::move(traffic));
}

void Reader::trouble(const std::string& word, const std::string& path, const Fill& fill) {
    Trouble trouble;
    trouble.name = word;
    fill(table_of(trouble));
    const bool of_names = trouble.how == Ailment::no_dns;
    if (of_names ? trouble.domains.empty() : trouble.hosts.empty())
        nobody(path, of_names ? "domains" : "hosts", "who is in trouble?");
    if (of_names ? !trouble.hosts.empty() : !trouble.domains.empty())
        toml_.problem_at(path, fmt::format("{}: \"no_dns\" is for domains, everything else for hosts", path));
    scenario_.troubles.push_back(std::move(trouble));
}

void Reader::nobody(const std::string& path, std::string_view key, std::string_view question) {
    const auto whole = fmt::format("{}.{}", path, key);
    if (toml_.given(whole))
        toml_.problem_at(whole, fmt::format("{} names nobody: {}", whole, question));
    else
        toml_.problem_at(path, fmt::format("{} is missing: {}", whole, question));
}

void Reader::check() {
    if (scenario_.traffic.empty()) toml_.problem({}, "no [traffic.<name>]: without mail nothing happens");
    if (scenario_.interval > scenario_.duration)
        toml_.problem_at("world.interval", "world: interval is longer than duration");
    if (scenario_.duration / scenario_.interval > 10'000)
        toml_.problem_at("world.interval", "world: more than 10000 intervals; make interval longer");
    double all = 0;
    for (auto& traffic : scenario_.traffic) {
        if (traffic.until == 0s || traffic.until > scenario_.duration) traffic.until = scenario_.duration;
        all +=
            traffic.messages *
            std::max(0.0,
                     std::chrono::duration<double, std::ratio<3600>>(traffic.until - traffic.from).count());
    }
    if (all > most_messages)
        toml_.problem(
            {}, fmt::format("{:.0f} messages are more than can be played ({:.0f}); a part of the traffic or "
                            "of the time shows the same",
                            all, most_messages));
}

std::expected<Scenario, std::vector<config::Problem>> Reader::read(std::string_view text) {
    if (text.size() > longest_file) {
        toml_.problem({}, "larger than 1MiB: not a scenario");
        return std::unexpected(toml_.problems());
    }
    Section fixed[] = {table_of(scenario_)};
    using std::placeholders::_1, std::placeholders::_2, std::placeholders::_3;
    const NamedSections named[] = {
        {"traffic", "[traffic.<name>]", false, std::bind(&Reader::traffic, this, _1, _2, _3)},
        {"host", "[host.\"<name>\"]", true, std::bind(&Reader::host, this, _1, _2, _3)},
        {"domain", "[domain.\"<name>\"]", true, std::bind(&Reader::domain, this, _1, _2, _3)},
        {"trouble", "[trouble.<name>]", false, std::bind(&Reader::trouble, this, _1, _2, _3)},
    };
    if (toml_.read(text, fixed, named)) check();
    auto problems = toml_.problems();
    if (!problems.empty()) return std::unexpected(std::move(problems));
    return std::move(scenario_);
}

} // namespace

std::string HostName::to_string() const {
    if (port == 0) return name;
    return name.find(':') == name.npos ? fmt::format("{}:{}", name, port)
                                       : fmt::format("[{}]:{}", name, port);
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

std::expected<Scenario, std::vector<config::Problem>> parse(std::string_view text, std::string_view file) {
    return Reader(file).read(text);
}

std::expected<Scenario, std::vector<config::Problem>> load(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in.is_open() || in.bad())
        return std::unexpected(std::vector{config::Problem{file, 0, 0, std::strerror(errno ? errno : EIO)}});
    return parse(text, file);
}

} // namespace postrider::simulate
