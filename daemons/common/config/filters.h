// What smtpd and pickup ask others before they take a message, one struct per named section: policy services,
// DNS lists, milters. Part of Config.
#pragma once
#include "daemons/common/network.h"
#include "daemons/common/service_address.h"
#include "libsmtp/time.h"
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace config {

// Where in a session something is asked.
enum class Stage : std::uint8_t { connect, helo, mail, rcpt, data, end_of_data };

// What becomes of mail when a service cannot be asked.
enum class OnFailure : std::uint8_t { accept, tempfail, reject, quarantine };

struct PolicyService { // [policy.<name>]
    std::string name;
    common::ServiceAddress address;
    Stage stage = Stage::rcpt;
    std::chrono::microseconds timeout = std::chrono::seconds(30);
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
    std::chrono::microseconds timeout = std::chrono::seconds(30);
    std::chrono::microseconds message_timeout = std::chrono::minutes(5);
    OnFailure on_failure = OnFailure::tempfail;
    std::vector<std::string> listeners; // empty: all; "local": submissions of programs on this host
};

} // namespace config
