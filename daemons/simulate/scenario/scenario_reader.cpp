// Reads a scenario, the file of postrider.scenario(5): its table of keys, and what must fit together in it.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/toml_reader.h"
#include "daemons/simulate/scenario/scenario.h"
#include "daemons/simulate/scenario/stages.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>

namespace postrider::simulate {

using namespace std::chrono_literals;
using config::DurationKey;
using config::FractionKey;
using config::IntKey;
using config::Refusal;
using config::Section;
using config::TextKey;

namespace {

constexpr std::size_t longest_file = 32 * 1024 * 1024;
constexpr double most_messages = 5'000'000;

// "mx.example.org", "mx.example.org:2525", "[192.0.2.1]:25", "[2001:db8::1]".
Refusal read_host(std::string_view text, HostName& host) {
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
    if (port.empty()) return std::nullopt;
    const auto* end = port.data() + port.size();
    const auto [stop, error] = std::from_chars(port.data() + 1, end, host.port);
    if (port[0] != ':' || error != std::errc() || stop != end || host.port == 0) return bad();
    return std::nullopt;
}

constexpr config::EnumValue<decide::queue::Lane> lanes[] = {
    {"high", decide::queue::Lane::high}, {"normal", decide::queue::Lane::normal}, {"bulk", decide::queue::Lane::bulk}};
constexpr config::EnumValue<Profile> profiles[] = {
    {"steady", Profile::steady}, {"daily", Profile::daily}, {"burst", Profile::burst}, {"listed", Profile::listed}};
// The values of the key `how`; some imply a stage and a reply.
struct FaultPreset {
    std::string_view name;
    FaultKind kind;
    smtp::Stage at = smtp::Stage::final_dot;
    Reply reply = {};
};
const FaultPreset presets[] = {
    {"refuses", FaultKind::refuses, smtp::Stage::connect},
    {"silent", FaultKind::silent, smtp::Stage::connect},
    {"busy", FaultKind::replies, smtp::Stage::banner, {421, "4.7.0", "too many connections"}},
    {"defers", FaultKind::replies, smtp::Stage::final_dot, {451, "4.3.0", "try again later"}},
    {"rejects", FaultKind::replies, smtp::Stage::final_dot, {554, "5.7.1", "rejected"}},
    {"replies", FaultKind::replies},
    {"drops", FaultKind::drops},
    {"slow", FaultKind::slow},
    {"no_dns", FaultKind::no_dns},
    {"no_name", FaultKind::no_name},
};

// The keys of a fault as written: `at` and `reply` override what `how` implies.
struct FaultKeys {
    const FaultPreset* preset = &presets[0];
    smtp::Stage at = smtp::Stage::connect;
    Reply reply;
};

TextKey preset_key(const FaultPreset*& value) {
    return {[&value](std::string_view text) -> Refusal {
                const auto* found = std::ranges::find(presets, text, &FaultPreset::name);
                if (found != std::end(presets)) {
                    value = found;
                    return std::nullopt;
                }
                std::string known;
                for (const auto& each : presets) known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", each.name);
                return fmt::format("\"{}\" is not a valid value: expected one of {}", text, known);
            },
            [&value] { return std::string(value->name); }};
}

TextKey reply_line(Reply& reply) {
    return {[&reply](std::string_view text) -> Refusal {
                const auto read = Reply::parse(text);
                if (!read) return fmt::format("\"{}\" is not a rejection such as \"450 4.2.0 mailbox busy\"", text);
                reply = *read;
                return std::nullopt;
            },
            [&reply] { return reply.line(); }};
}

// "app@example.org" or "<>".
TextKey sender(std::string& value) {
    return {[&value](std::string_view text) -> Refusal {
                const auto at = text.rfind('@');
                const auto domain = at == text.npos ? "" : config::domain_name(text.substr(at + 1));
                if (text != "<>" && (at == 0 || domain.empty()))
                    return fmt::format("\"{}\" is not an address such as \"app@example.org\"", text);
                value = text == "<>" ? std::string(text) : std::string(text.substr(0, at + 1)) + domain;
                return std::nullopt;
            },
            [&value] { return value; }};
}

TextKey arrivals(std::vector<smtp::Duration>& value) {
    return {[&value](std::string_view text) -> Refusal {
                auto read = parse_arrivals(text);
                if (!read) return std::move(read.error());
                value = *std::move(read);
                return std::nullopt;
            },
            [] { return std::string(); }};
}

Section section_for(Scenario& s) {
    return {"world",
            "",
            {{"duration", DurationKey{&s.duration, min_duration, max_duration}, "", ""},
             {"interval", DurationKey{&s.interval, 1s, max_duration}, "", ""},
             {"seed", IntKey{&s.seed, 0, 1'000'000'000}, "", ""}}};
}
Section section_for(Traffic& t) {
    return {"traffic.<name>",
            "",
            {{"domains", config::domains(t.domains), "", ""},
             {"profile", config::one_of(t.profile, profiles), "", ""},
             {"messages", IntKey{&t.messages, 1, 100'000'000}, "", ""},
             {"from", DurationKey{&t.from, 0s, max_duration}, "", ""},
             {"until", DurationKey{&t.until, 0s, max_duration}, "", ""},
             {"every", DurationKey{&t.every, 1s, max_duration}, "", ""},
             {"peak", DurationKey{&t.peak, 0s, 24h}, "", ""},
             {"arrivals", arrivals(t.arrivals), "", ""},
             {"size", config::SizeKey{&t.size, 1, std::uint64_t{1} << 40}, "", ""},
             {"lane", config::one_of(t.lane, lanes), "", ""},
             {"sender", sender(t.sender), "", ""},
             {"senders", IntKey{&t.senders, 1, 1'000'000}, "", ""},
             {"retry_policy", config::non_empty_text(t.retry_policy), "", ""},
             {"pool", config::non_empty_text(t.pool), "", ""}}};
}
Section section_for(Host& h) {
    return {"host.\"<name>\"",
            "",
            {{"connect", DurationKey{&h.connect, 1ms, 10min}, "", ""},
             {"transaction", DurationKey{&h.transaction, 1ms, 10min}, "", ""},
             {"connections", IntKey{&h.connections, 0, 100'000}, "", ""},
             {"messages_per_minute", IntKey{&h.messages_per_minute, 0, 100'000'000}, "", ""},
             {"messages_per_hour", IntKey{&h.messages_per_hour, 0, 100'000'000}, "", ""},
             {"over_rate", reply_line(h.over_rate), "", ""},
             {"unknown", FractionKey{&h.unknown}, "", ""},
             {"greylist", DurationKey{&h.greylist, 0s, 24h}, "", ""}}};
}
Section section_for(Domain& d) {
    return {"domain.\"<name>\"",
            "",
            {{"mx", config::domains(d.mx), "", ""}, {"ttl", DurationKey{&d.ttl, 1s, 168h}, "", ""}}};
}
Section section_for(Fault& t, FaultKeys& keys) {
    return {"fault.<name>",
            "",
            {{"hosts", config::list_of<HostName>(t.hosts, read_host), "", ""},
             {"domains", config::domains(t.domains), "", ""},
             {"how", preset_key(keys.preset), "", ""},
             {"at", config::one_of(keys.at, stages), "", ""},
             {"reply", reply_line(keys.reply), "", ""},
             {"transaction", DurationKey{&t.transaction, 1ms, 10min}, "", ""},
             {"share", FractionKey{&t.share}, "", ""},
             {"from", DurationKey{&t.from, 0s, max_duration}, "", ""},
             {"lasts", DurationKey{&t.duration, 1s, max_duration}, "", ""}}};
}

constexpr config::RenamedKey renamed[] = {{"trouble", "fault"}};

using config::NamedSections;
using Fill = NamedSections::Fill;

class Reader {
public:
    Reader(std::string_view file, const ScenarioContext& context) : toml_(file, renamed), context_(context) {}
    std::expected<Scenario, std::vector<config::Problem>> read(std::string_view text);

private:
    void host(const std::string& word, const std::string& path, const Fill& fill);
    void domain(const std::string& word, const std::string& path, const Fill& fill);
    void traffic(const std::string& word, const std::string& path, const Fill& fill);
    void fault(const std::string& word, const std::string& path, const Fill& fill);
    void report_missing(const std::string& path, std::string_view key, std::string_view question);
    void restrict_key(const std::string& path, std::string_view key, bool fits, std::string_view what);
    void check();
    void check_duplicates();

    config::TomlReader toml_;
    const ScenarioContext& context_;
    Scenario scenario_;
};

void Reader::host(const std::string& word, const std::string& path, const Fill& fill) {
    Host host;
    if (const auto refusal = read_host(word, host.name)) toml_.problem_at(path, *refusal);
    fill(section_for(host));
    scenario_.hosts.push_back(std::move(host));
}

void Reader::domain(const std::string& word, const std::string& path, const Fill& fill) {
    Domain domain;
    domain.name = config::domain_name(word);
    if (domain.name.empty()) toml_.problem_at(path, fmt::format("{}: not a domain", path));
    fill(section_for(domain));
    scenario_.domains.push_back(std::move(domain));
}

// A key that has no effect here.
void Reader::restrict_key(const std::string& path, std::string_view key, bool fits, std::string_view what) {
    const auto whole = fmt::format("{}.{}", path, key);
    if (!fits && toml_.is_set(whole)) toml_.problem_at(whole, fmt::format("{} is for {} only", whole, what));
}

void Reader::traffic(const std::string& word, const std::string& path, const Fill& fill) {
    Traffic traffic;
    traffic.name = word;
    fill(section_for(traffic));
    if (traffic.domains.empty()) report_missing(path, "domains", "expected the domains of the recipients");
    if (traffic.until != 0s && traffic.until <= traffic.from)
        toml_.problem_at(path + ".until", fmt::format("{}: until must be later than from", path));
    restrict_key(path, "every", traffic.profile == Profile::burst, "profile = \"burst\"");
    restrict_key(path, "peak", traffic.profile == Profile::daily, "profile = \"daily\"");
    const bool listed = traffic.profile == Profile::listed;
    restrict_key(path, "arrivals", listed, "profile = \"listed\"");
    for (const auto* key : {"messages", "from"}) restrict_key(path, key, !listed, "profiles other than \"listed\"");
    if (listed && traffic.arrivals.empty())
        toml_.problem_at(path, fmt::format("{}.arrivals is missing: expected the times of arrival", path));
    const auto& policy = traffic.retry_policy;
    if (!policy.empty() && policy != "exchange" &&
        std::ranges::find(context_.policies, policy, &decide::queue::RetryPolicy::name) == context_.policies.end())
        toml_.problem_at(path + ".retry_policy",
                         fmt::format("{}.retry_policy: the configuration has no [retry.{}]", path, policy));
    if (const auto& pool = traffic.pool;
        !pool.empty() && std::ranges::find(context_.pools, pool, &config::Pool::name) == context_.pools.end())
        toml_.problem_at(path + ".pool", fmt::format("{}.pool: the configuration has no [pool.{}]", path, pool));
    scenario_.traffic.push_back(std::move(traffic));
}

void Reader::fault(const std::string& word, const std::string& path, const Fill& fill) {
    Fault fault;
    FaultKeys keys;
    fault.name = word;
    fill(section_for(fault, keys));
    fault.kind = keys.preset->kind;
    fault.at = toml_.is_set(path + ".at") ? keys.at : keys.preset->at;
    fault.reply = toml_.is_set(path + ".reply") ? keys.reply : keys.preset->reply;
    const bool names = is_dns_fault(fault.kind);
    const bool replies = fault.kind == FaultKind::replies;
    if (names ? fault.domains.empty() : fault.hosts.empty())
        report_missing(path, names ? "domains" : "hosts", "expected what is affected");
    if (names ? !fault.hosts.empty() : !fault.domains.empty())
        toml_.problem_at(path,
                         fmt::format("{}: \"no_dns\" and \"no_name\" are for domains, all others are for hosts", path));
    restrict_key(path, "reply", replies, "how = \"replies\", \"busy\", \"defers\" and \"rejects\"");
    restrict_key(path, "transaction", fault.kind == FaultKind::slow, "how = \"slow\"");
    restrict_key(path, "at", replies || fault.kind == FaultKind::silent || fault.kind == FaultKind::drops,
                 "how = \"replies\", \"silent\" and \"drops\"");
    restrict_key(path, "share", !names, "faults of hosts");
    if (replies && fault.reply.code == 0 && !toml_.is_set(path + ".reply"))
        toml_.problem_at(path, fmt::format("{}.reply is missing: expected the server's reply", path));
    if (fault.at == smtp::Stage::connect && (replies || fault.kind == FaultKind::drops))
        toml_.problem_at(path + ".at", fmt::format("{}.at: there is no reply before the banner", path));
    scenario_.faults.push_back(std::move(fault));
}

void Reader::report_missing(const std::string& path, std::string_view key, std::string_view question) {
    const auto whole = fmt::format("{}.{}", path, key);
    if (toml_.is_set(whole))
        toml_.problem_at(whole, fmt::format("{} is empty: {}", whole, question));
    else
        toml_.problem_at(path, fmt::format("{} is missing: {}", whole, question));
}

// A line for each of about 24 parts, of a round length.
smtp::Duration default_interval(smtp::Duration duration) {
    constexpr smtp::Duration round_values[] = {1s,    5s, 10s, 30s, 1min, 5min, 10min, 15min,
                                               30min, 1h, 2h,  3h,  6h,   12h,  24h,   168h};
    const auto found = std::ranges::find_if(round_values, [&](auto each) { return duration / each <= 24; });
    return found == std::end(round_values) ? round_values[std::size(round_values) - 1] : *found;
}

double messages_of(const Traffic& traffic) {
    if (traffic.profile == Profile::listed) return static_cast<double>(traffic.arrivals.size());
    using Hours = std::chrono::duration<double, std::ratio<3600>>;
    const auto span = std::max(smtp::Duration(0), traffic.until - traffic.from);
    if (traffic.profile != Profile::burst) return traffic.messages * Hours(span).count();
    const auto bursts = traffic.every == 0s || span == 0s ? 1 : 1 + (span - smtp::Duration(1)) / traffic.every;
    return static_cast<double>(traffic.messages) * static_cast<double>(bursts);
}

// The same host or domain in two sections, once as "a.example" and once as "A.example".
void Reader::check_duplicates() {
    std::set<std::string> hosts, domains;
    for (const auto& host : scenario_.hosts)
        if (!hosts.insert(host.name.to_string()).second)
            return toml_.problem({}, fmt::format("host {}: duplicate section", host.name.to_string()));
    for (const auto& domain : scenario_.domains)
        if (!domains.insert(domain.name).second)
            return toml_.problem({}, fmt::format("domain {}: duplicate section", domain.name));
}

void Reader::check() {
    if (context_.seed) scenario_.seed = *context_.seed;
    if (context_.duration) scenario_.duration = *context_.duration;
    if (scenario_.traffic.empty()) toml_.problem({}, "no [traffic.<name>]: a scenario needs mail");
    check_duplicates();
    if (scenario_.interval == 0s) scenario_.interval = default_interval(scenario_.duration);
    if (scenario_.interval > scenario_.duration)
        toml_.problem_at("world.interval", "world: interval is longer than duration");
    if (scenario_.duration / scenario_.interval > 10'000)
        toml_.problem_at("world.interval", "world: more than 10000 intervals; make interval longer");
    double all = 0;
    for (auto& traffic : scenario_.traffic) {
        if (traffic.until == 0s || traffic.until > scenario_.duration) traffic.until = scenario_.duration;
        all += messages_of(traffic);
    }
    if (all > most_messages)
        toml_.problem({}, fmt::format("{:.0f} messages are more than can be simulated ({:.0f}); simulate part of the "
                                      "traffic or of the time",
                                      all, most_messages));
}

std::expected<Scenario, std::vector<config::Problem>> Reader::read(std::string_view text) {
    if (text.size() > longest_file) {
        toml_.problem({}, "larger than 32MiB: not a scenario");
        return std::unexpected(toml_.problems());
    }
    Section fixed[] = {section_for(scenario_)};
    using std::placeholders::_1, std::placeholders::_2, std::placeholders::_3;
    const NamedSections named[] = {
        {"traffic", "[traffic.<name>]", false, std::bind(&Reader::traffic, this, _1, _2, _3)},
        {"host", "[host.\"<name>\"]", true, std::bind(&Reader::host, this, _1, _2, _3)},
        {"domain", "[domain.\"<name>\"]", true, std::bind(&Reader::domain, this, _1, _2, _3)},
        {"fault", "[fault.<name>]", false, std::bind(&Reader::fault, this, _1, _2, _3)},
    };
    if (toml_.read(text, fixed, named)) check();
    auto problems = toml_.problems();
    if (!problems.empty()) return std::unexpected(std::move(problems));
    return std::move(scenario_);
}

} // namespace

std::expected<std::vector<smtp::Duration>, std::string> parse_arrivals(std::string_view text) {
    constexpr std::string_view blank = " \t\r\n";
    std::vector<smtp::Duration> out;
    for (auto at = text.find_first_not_of(blank); at != text.npos; at = text.find_first_not_of(blank, at)) {
        const auto word = text.substr(at, text.find_first_of(blank, at) - at);
        at += word.size();
        const auto* next = word.data();
        const auto* const end = next + word.size();
        const auto number = [&](char before, std::uint32_t& into) { // false: it does not continue this way, or is wrong
            if (before != 0 && (next == end || *next++ != before)) return false;
            const auto [stop, error] = std::from_chars(next, end, into);
            next = stop;
            return error == std::errc();
        };
        std::uint32_t hours = 0, minutes = 0, seconds = 0, times = 1;
        bool good = number(0, hours) && number(':', minutes);
        if (good && next != end && *next == ':') good = number(':', seconds);
        if (good && next != end) good = number('x', times);
        if (!good || next != end || hours > 24 * 400 || minutes > 59 || seconds > 59 || times == 0)
            return std::unexpected(fmt::format(
                "\"{}\" is not a time such as \"9:38:43\", or \"9:38:43x3\" for three messages", word.substr(0, 40)));
        const smtp::Duration time =
            std::chrono::hours(hours) + std::chrono::minutes(minutes) + std::chrono::seconds(seconds);
        if (!out.empty() && time < out.back())
            return std::unexpected(fmt::format("{} is earlier than the one before it", word));
        if (static_cast<double>(out.size()) + times > most_messages)
            return std::unexpected(fmt::format("more than {:.0f} messages", most_messages));
        out.insert(out.end(), times, time);
    }
    return out;
}

std::expected<Scenario, std::vector<config::Problem>> parse(std::string_view text, std::string_view file,
                                                            const ScenarioContext& context) {
    return Reader(file, context).read(text);
}

std::expected<Scenario, std::vector<config::Problem>> load(const std::string& file, const ScenarioContext& context) {
    std::ifstream in(file, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in.is_open() || in.bad())
        return std::unexpected(std::vector{config::Problem{file, 0, 0, std::strerror(errno ? errno : EIO)}});
    return parse(text, file, context);
}

} // namespace postrider::simulate
