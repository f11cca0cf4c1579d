// A scenario of `postrider simulate`: what mail comes, how the other side behaves, what goes wrong and when.
// A value read from TOML by the same reader as the configuration. man/postrider.scenario.5 describes it to
// its author.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/decide/queue/events.h"
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace postrider::simulate {

// One [traffic.<name>]: messages of one recipient each, evenly spread but for some chance.
struct Traffic {
    std::string name;
    std::vector<std::string> domains; // of the recipients, in turn
    std::uint32_t messages = 600;     // an hour, over all domains
    smtp::Duration from{}, until{};   // until 0: to the end
    decide::queue::Lane lane = decide::queue::Lane::normal;
};

// A host as a scenario names it: "mx.example.org", or with a port to mean only that one.
struct HostName {
    std::string name;
    std::uint16_t port = 0; // 0: any
    bool covers(std::string_view host, std::uint16_t at) const {
        return name == host && (port == 0 || port == at);
    }
    std::string to_string() const;
    bool operator==(const HostName&) const = default;
};

// One [host."<name>"]: how a server behaves while nothing is wrong with it.
struct Host {
    HostName name;
    smtp::Duration connect = std::chrono::milliseconds(50);      // until its greeting
    smtp::Duration transaction = std::chrono::milliseconds(200); // for one message
    std::uint32_t connections = 0;                               // more at once get 421; 0: no limit
    double unknown = 0;                                          // of recipients are refused for good (550)
    smtp::Duration greylist{}; // a recipient is put off (450) until so long after its first try
};

// One [domain."<name>"]: what the name system says, for domains without a route of their own.
struct Domain {
    std::string name;
    std::vector<std::string> mx; // in order of preference; empty: "mx.<name>"
};

enum class Ailment : std::uint8_t {
    refuses, // no connection comes up: refused at once
    silent,  // no connection comes up: nobody answers until we give up
    busy,    // 421 instead of a greeting
    defers,  // 451 to every message
    rejects, // 554 to every message
    drops,   // hangs up in the middle of every message
    no_dns,  // the domains' MX cannot be looked up
};

// One [trouble.<name>].
struct Trouble {
    std::string name;
    std::vector<HostName> hosts;
    std::vector<std::string> domains; // no_dns
    Ailment how = Ailment::refuses;
    smtp::Duration from{}, lasts = std::chrono::hours(1);
    smtp::Duration until() const { return from + lasts; }
};

struct Scenario {
    smtp::Duration duration = std::chrono::hours(24);
    smtp::Duration interval = std::chrono::hours(1); // of the timetable
    std::uint32_t seed = 1;
    std::vector<Traffic> traffic;
    std::vector<Host> hosts;
    std::vector<Domain> domains;
    std::vector<Trouble> troubles;

    const Host& host(std::string_view name,
                     std::uint16_t port) const; // the one of that name, or the usual kind
    const Domain* domain(std::string_view name) const;
};

// All problems at once, in the order of the file.
std::expected<Scenario, std::vector<config::Problem>> parse(std::string_view text, std::string_view file);
std::expected<Scenario, std::vector<config::Problem>> load(const std::string& file);

} // namespace postrider::simulate
