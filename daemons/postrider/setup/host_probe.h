// Finds out about this host what host_findings.h judges: asks name servers, another host's SMTP server and the kernel's
// clock.
#pragma once
#include "daemons/postrider/setup/dns_questions.h"
#include "daemons/postrider/setup/host_findings.h"
#include <string>

namespace postrider::setup {

// Whose mail servers are asked for a greeting unless another host is named: one that accepts any
// connection.
inline constexpr std::string_view usual_test_domain = "gmail.com";
inline constexpr std::size_t most_addresses = 8; // of this host, whose names are looked up

struct TestHost {     // --test-host
    std::string name; // or a numeric address; "": the usual domain's MX hosts
    std::uint16_t port = 25;
};

// `next_hop`: where the configuration sends all mail; "": to the recipients' own hosts.
HostFacts probe_host(common::Loop& loop, DnsQuestions& dns, const std::string& host, const std::string& next_hop,
                     const TestHost& test);

} // namespace postrider::setup
