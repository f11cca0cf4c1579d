// A scenario of `postrider simulate`: which mail arrives, how servers behave, what goes wrong and when. A value read
// from TOML by the same reader as the configuration. man/postrider.scenario.5 documents it for authors.
#pragma once
#include "daemons/common/config/problem.h"
#include "daemons/common/config/sections/delivery/pools.h"
#include "daemons/decide/queue/events.h"
#include "libsmtp/delivery/stage.h"
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace postrider::simulate {

enum class Profile : std::uint8_t {
    steady, // evenly spread but for some chance
    daily,  // as an office writes: little at night, most at `peak`
    burst,  // all at once, at `from` and again every `every`
    listed, // each at its time in `arrivals`
};

// One [traffic.<name>]: messages of one recipient each.
struct Traffic {
    std::string name;
    std::vector<std::string> domains; // of the recipients, in turn
    Profile profile = Profile::steady;
    std::uint32_t messages = 600;                 // an hour, over all domains; burst: each time
    smtp::Duration from{}, until{};               // until 0: to the end
    smtp::Duration every{};                       // burst: 0 once only
    smtp::Duration peak = std::chrono::hours(14); // daily: time of the day; a scenario begins at midnight
    std::vector<smtp::Duration> arrivals;         // listed: in order
    std::uint64_t size = 4096;                    // of a message, in bytes
    decide::queue::Lane lane = decide::queue::Lane::normal;
    std::string sender;        // its domain gets the reports; "" a user here
    std::uint32_t senders = 1; // number of different submitters, in turn
    std::string retry_policy;  // by name; "" the route's
    std::string pool;          // of source addresses; "" its sender's or the route's
    bool null_sender() const { return sender == "<>"; }
};

// A host as a scenario names it: "mx.example.org", or with a port to mean only that one.
struct HostName {
    std::string name;
    std::uint16_t port = 0; // 0: any
    bool covers(std::string_view host, std::uint16_t at) const { return name == host && (port == 0 || port == at); }
    std::string to_string() const;
    bool operator==(const HostName&) const = default;
};

// A server's reply: "452 4.5.3 too many messages".
struct Reply {
    int code = 0; // 0: nothing
    std::string status, text;

    static std::optional<Reply> parse(std::string_view line); // 4xx and 5xx only
    std::string line() const;
};

// One [host."<name>"]: how a server behaves while nothing is wrong with it.
struct Host {
    HostName name;
    smtp::Duration connect = std::chrono::milliseconds(50);       // until its greeting
    smtp::Duration transaction = std::chrono::milliseconds(200);  // for one message
    std::uint32_t connections = 0;                                // more at once get 421; 0: no limit
    std::uint32_t messages_per_minute = 0, messages_per_hour = 0; // more get over_rate at MAIL; 0: no limit
    Reply over_rate{452, "4.7.1", "too many messages, try again later"};
    double unknown = 0;        // share of recipients that are rejected permanently (550)
    smtp::Duration greylist{}; // a recipient is deferred (450) until this long after its first attempt
};

// One [domain."<name>"]: the name system's answers, for domains without a route of their own.
struct Domain {
    std::string name;
    std::vector<std::string> mx; // in order of preference; empty: "mx.<name>"
    smtp::Duration ttl = std::chrono::hours(1);
};

enum class FaultKind : std::uint8_t {
    refuses, // connections are refused at once
    silent,  // no reply, when connecting or at `at`, until we time out
    replies, // `reply`, at `at`
    drops,   // closes the connection, at `at`
    slow,    // a message takes `transaction`
    no_dns,  // the domains' MX cannot be looked up
    no_name, // the domains do not exist
};
constexpr bool is_dns_fault(FaultKind kind) { return kind == FaultKind::no_dns || kind == FaultKind::no_name; }

// One [fault.<name>].
struct Fault {
    std::string name;
    std::vector<HostName> hosts;
    std::vector<std::string> domains; // no_dns, no_name
    FaultKind kind = FaultKind::refuses;
    smtp::Stage at = smtp::Stage::final_dot;
    Reply reply{451, "4.3.0", "try again later"};
    smtp::Duration transaction = std::chrono::seconds(30); // slow
    double share = 1;                                      // of messages; of connections at banner and EHLO
    smtp::Duration from{}, duration = std::chrono::hours(1);
    smtp::Duration until() const { return from + duration; }
    bool applies_to(std::string_view host, std::uint16_t port) const;
    std::string targets() const;     // "mx.example.org, mx2.example.org"
    std::string description() const; // "refuses connections"
};

struct Scenario {
    smtp::Duration duration = std::chrono::hours(24);
    smtp::Duration interval{}; // of the timetable; never 0 after parse()
    std::uint32_t seed = 1;
    std::vector<Traffic> traffic;
    std::vector<Host> hosts;
    std::vector<Domain> domains;
    std::vector<Fault> faults;

    const Host& host(std::string_view name,
                     std::uint16_t port) const; // the one of that name, or the default
    const Domain* domain(std::string_view name) const;
};

// "9:38", "9:38:43 10:02x3": times since the beginning, in order, in whole seconds; three messages come at the last. An
// error is a line for the author.
std::expected<std::vector<smtp::Duration>, std::string> parse_arrivals(std::string_view text);

// Inputs besides the file.
struct ScenarioContext {
    std::optional<std::uint32_t> seed; // these two: from the command line, instead of what the file says
    std::optional<smtp::Duration> duration;
    std::span<const decide::queue::RetryPolicy> policies = {}; // the configuration's
    std::span<const config::Pool> pools = {};                  // the same
};

// All problems at once, in the order of the file.
std::expected<Scenario, std::vector<config::Problem>> parse(std::string_view text, std::string_view file,
                                                            const ScenarioContext& context = {});
std::expected<Scenario, std::vector<config::Problem>> load(const std::string& file,
                                                           const ScenarioContext& context = {});

// Of a scenario.
constexpr smtp::Duration min_duration = std::chrono::minutes(1), max_duration = std::chrono::hours(400 * 24);

} // namespace postrider::simulate
