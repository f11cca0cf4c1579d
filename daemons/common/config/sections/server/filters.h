// The services that smtpd and pickup query before they accept a message, one
// struct per named section: policy services, DNS lists, milters. Part of Config.
#pragma once
#include "daemons/common/net/network.h"
#include "daemons/common/net/service_address.h"
#include "libsmtp/text/time_types.h"
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace config {

// The point in a session at which a service is queried.
enum class Stage : std::uint8_t { connect, helo, mail, rcpt, data, end_of_data, unknown };

// What happens to mail when a service is unavailable.
enum class OnFailure : std::uint8_t { accept, tempfail, reject, quarantine };

struct PolicyService { // [policy.<name>]
    std::string name;
    common::ServiceAddress address;
    Stage stage = Stage::rcpt;
    std::chrono::microseconds timeout = std::chrono::seconds(30);
    std::chrono::microseconds busy_timeout = std::chrono::seconds(5); // while further requests wait
    OnFailure on_failure = OnFailure::tempfail;
    std::uint32_t connections = 50;     // per process
    std::vector<std::string> listeners; // empty: all whose service is relay
};

struct DnsList { // [dns_list."<zone>"]
    std::string zone;
    std::uint32_t weight = 1;
    bool allow = false; // the weight counts for the client, not against it
    std::vector<common::Network> answers = {*common::Network::parse("127.0.0.0/8")};
    std::vector<std::string> listeners; // empty: all whose service is relay
};

struct Milter { // [milter.<name>]
    std::string name;
    common::ServiceAddress address;
    std::chrono::microseconds connect_timeout = std::chrono::seconds(30); // connection and negotiation
    std::chrono::microseconds timeout = std::chrono::seconds(30);
    std::chrono::microseconds message_timeout = std::chrono::minutes(5);
    OnFailure on_failure = OnFailure::tempfail;
    std::vector<std::string> listeners; // empty: all; "local": submissions of programs on this host
    bool applies_to(std::string_view listener) const;
    bool applies_to_local() const; // only if listed explicitly
};

struct Content { // [content]
    // As written, in order; common::HeaderChecks compiles them.
    std::vector<std::string> header_checks, mime_header_checks, nested_header_checks, body_checks;
    std::uint64_t body_checks_size = 50 * 1024; // of each part; of a message four times that
    // Where FILTER sends messages: the key whose rule says so, and the host or the name of the route.
    std::vector<std::pair<std::string, std::string>> filters() const;
};

struct AutomaticBcc {                // [automatic_bcc]
    std::vector<std::string> always; // addresses
    // "ann@example.org", "@example.org", in lower case → recipient of the copy
    std::map<std::string, std::string, std::less<>> by_sender, by_recipient;
};

// Among a milter's listeners: mail from programs on this host, which arrives on no listener.
inline constexpr std::string_view local_submissions = "local";

} // namespace config
