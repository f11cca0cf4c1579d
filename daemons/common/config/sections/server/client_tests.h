// Tests of clients before they may send mail, and the memory of those that passed: [client_tests]. Values.
#pragma once
#include "daemons/common/net/network.h"
#include "daemons/decide/screening/screening.h"
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace config {

struct ClientTests {
    using Action = decide::screening::Action;

    bool enabled = false;
    std::vector<std::string> listeners; // empty: all whose service is relay
    // Not tested, and not admitted: in front of all tests, the tables first.
    std::vector<std::string> tables;
    std::vector<common::Network> allowed, denied;
    Action denied_action = Action::drop;
    Action early_talk = Action::drop;   // with smtpd.greeting_delay
    Action dns_lists = Action::enforce; // with [dns_list]
    Action pipelining = Action::off, non_smtp = Action::off, bare_newline = Action::off;
    std::chrono::microseconds early_talk_lifetime = std::chrono::hours(24);
    std::chrono::microseconds dns_minimum_lifetime = std::chrono::minutes(1);
    std::chrono::microseconds dns_maximum_lifetime = std::chrono::hours(1);
    std::chrono::microseconds session_lifetime = std::chrono::days(30); // of the tests during a session
    std::chrono::microseconds dns_timeout = std::chrono::seconds(10);
    std::uint32_t allow_threshold = 0; // lists that vouch for a client by this: no other tests; 0 off
    std::uint32_t waiting = 1000;      // clients of one process
    std::chrono::microseconds retention = std::chrono::days(7);
    std::uint64_t max_size = 64ULL << 20; // bytes of the memory's file

    // Where the memory is.
    static std::string directory(const std::string& spool) { return spool + "/state/clients"; }
};

// What the tests of a listener need to know. `lists`: it has some.
decide::screening::Settings screening_settings(const ClientTests& tests, std::chrono::microseconds greeting_delay,
                                               std::uint32_t threshold, bool lists);

} // namespace config
