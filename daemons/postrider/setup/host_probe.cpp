#include "daemons/postrider/setup/host_probe.h"
#include "daemons/postrider/setup/greeting.h"
#include <algorithm>
#include <expected>
#include <fmt/format.h>
#include <sys/timex.h>

namespace postrider::setup {

namespace {

using dns::Type;
using TestServer = std::pair<std::string, common::IpAddress>; // name, address

bool clock_synchronized() {
    timex state{}; // only asks
    return adjtimex(&state) != TIME_ERROR;
}

std::expected<TestServer, std::string> address_of(DnsQuestions& dns, const std::string& name) {
    if (const auto address = common::IpAddress::parse(name)) return TestServer(name, *address);
    std::string why = "it has no address";
    for (const auto type : {Type::a, Type::aaaa}) {
        const auto answer = dns.ask(name, type);
        if (!answer.addresses.empty()) return TestServer(name, answer.addresses.front());
        if (answer.said == dns::LookupStatus::failed) why = answer.why;
    }
    return std::unexpected(fmt::format("{}: {}", name, why));
}

std::expected<TestServer, std::string> find_server(DnsQuestions& dns, const TestHost& test) {
    if (!test.name.empty()) return address_of(dns, test.name);
    const auto answer = dns.ask(usual_test_domain, Type::mx);
    const auto best = std::ranges::min_element(answer.mx, {}, &dns::MxRecord::preference);
    if (best != answer.mx.end()) return address_of(dns, best->host);
    return std::unexpected(
        fmt::format("{} has no MX record{}{}", usual_test_domain, answer.why.empty() ? "" : ": ", answer.why));
}

OutgoingTest test_outgoing(common::Loop& loop, DnsQuestions& dns, const std::string& next_hop, const TestHost& test) {
    OutgoingTest result{.next_hop = test.name.empty() ? next_hop : "", .server = "", .greeting = "", .error = ""};
    if (!result.next_hop.empty()) return result;
    const auto server = find_server(dns, test);
    if (!server) {
        result.error = server.error();
        return result;
    }
    const auto& [name, address] = *server;
    result.server = fmt::format("{}[{}]:{}", name, address.to_string(), test.port);
    auto greeting = greeting_of(loop, {.address = address, .port = test.port});
    (greeting ? result.greeting : result.error) = greeting ? *greeting : greeting.error();
    return result;
}

} // namespace

HostFacts probe_host(common::Loop& loop, DnsQuestions& dns, const std::string& host, const std::string& next_hop,
                     const TestHost& test) {
    HostFacts facts;
    facts.host = host;
    facts.ipv4 = dns.ask(host, Type::a);
    facts.ipv6 = dns.ask(host, Type::aaaa);
    for (const auto* answer : {&facts.ipv4, &facts.ipv6})
        for (const auto& address : answer->addresses) {
            if (facts.reverse.size() == most_addresses) break;
            const auto names = dns.names_of(address);
            facts.reverse.push_back({address, names.confirmed, names.reverse});
        }
    facts.outgoing = test_outgoing(loop, dns, next_hop, test);
    facts.trusts_name_servers = dns.trusts_ad();
    if (facts.trusts_name_servers) facts.signed_zone = dns.ask(zone_known_to_be_signed, Type::ns);
    facts.clock_synchronized = clock_synchronized();
    return facts;
}

} // namespace postrider::setup
