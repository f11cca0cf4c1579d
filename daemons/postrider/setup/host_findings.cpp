#include "daemons/postrider/setup/host_findings.h"
#include "daemons/common/net/network.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider::setup {

namespace {

using dns::LookupStatus;

// Not reachable from other networks.
bool is_private(const common::IpAddress& address) {
    constexpr std::string_view networks[] = {"127.0.0.0/8",    "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",
                                             "169.254.0.0/16", "::1/128",    "fe80::/10",     "fc00::/7"};
    return std::ranges::any_of(networks, [&](std::string_view text) {
        const auto network = common::Network::parse(text);
        return network && network->contains(address);
    });
}

Finding name_finding(const HostFacts& facts) {
    if (facts.host.find('.') != facts.host.npos) return {Grade::good, "host name", facts.host, ""};
    return {Grade::bad, "host name", fmt::format("\"{}\" is not fully qualified", facts.host),
            "Set mta.hostname, or /etc/mailname and the host name, to a name such as mail.example.com."};
}

Finding address_finding(const HostFacts& facts) {
    constexpr std::string_view subject = "address";
    auto addresses = facts.ipv4.addresses;
    std::ranges::copy(facts.ipv6.addresses, std::back_inserter(addresses));
    if (addresses.empty()) {
        const auto* failed = facts.ipv4.said == LookupStatus::failed   ? &facts.ipv4
                             : facts.ipv6.said == LookupStatus::failed ? &facts.ipv6
                                                                       : nullptr;
        if (failed)
            return {Grade::bad, std::string(subject),
                    fmt::format("the lookup of {} failed: {}", facts.host, failed->why), ""};
        return {Grade::bad, std::string(subject), fmt::format("{} has no A and no AAAA record", facts.host),
                "Add one to the zone, with the address that other hosts see."};
    }
    std::string text, unreachable;
    for (const auto& address : addresses) {
        text += (text.empty() ? "" : ", ") + address.to_string();
        if (is_private(address)) unreachable += (unreachable.empty() ? "" : ", ") + address.to_string();
    }
    if (unreachable.empty()) return {Grade::good, std::string(subject), fmt::format("{} is {}", facts.host, text), ""};
    return {Grade::bad, std::string(subject),
            fmt::format("{} has an address that other networks cannot reach: {}", facts.host, unreachable),
            "Publish the address that other hosts see."};
}

Finding reverse_finding(const ReverseName& reverse, const std::string& host) {
    constexpr std::string_view subject = "reverse name";
    const auto address = reverse.address.to_string();
    if (reverse.reverse.empty())
        return {Grade::bad, std::string(subject),
                fmt::format("{} has no PTR record: many sites reject its mail", address),
                fmt::format("Ask the provider of the address to set it to {}.", host)};
    if (reverse.confirmed.empty())
        return {Grade::bad, std::string(subject),
                fmt::format("the PTR record of {} is {}, which does not have this address", address, reverse.reverse),
                fmt::format("Ask the provider of the address to set it to {}.", host)};
    if (reverse.confirmed != host)
        return {Grade::note, std::string(subject),
                fmt::format("{} is {}, and this host calls itself {}", address, reverse.confirmed, host),
                "Some sites expect both names to be the same."};
    return {Grade::good, std::string(subject), fmt::format("{} is {}", address, reverse.confirmed), ""};
}

Finding outgoing_finding(const OutgoingTest& test) {
    constexpr std::string_view subject = "port 25";
    if (!test.next_hop.empty())
        return {Grade::note, std::string(subject),
                fmt::format("not tried: all mail goes to {} by the configuration", test.next_hop), ""};
    if (test.server.empty())
        return {Grade::bad, std::string(subject), fmt::format("not tried: {}", test.error),
                "Name a server that may be asked with --test-host."};
    if (test.greeting.empty())
        return {
            Grade::bad, std::string(subject), fmt::format("{}: {}", test.server, test.error),
            "If this is so for every server, the provider blocks port 25: ask to have it opened, or send by a smart "
            "host (postrider.toml(5), [route.\"*\"])."};
    return {Grade::good, std::string(subject), fmt::format("{} says {}", test.server, test.greeting), ""};
}

Finding resolver_finding(const HostFacts& facts) {
    constexpr std::string_view subject = "DNSSEC";
    const std::string advice =
        "DANE, which protects against forged TLS certificates, needs a validating name server on "
        "this host, such as unbound, in dns.servers or /etc/resolv.conf.";
    if (!facts.trusts_name_servers)
        return {Grade::note, std::string(subject), "not used: the name servers are not on this host", advice};
    if (facts.signed_zone.said == LookupStatus::failed)
        return {Grade::bad, std::string(subject),
                fmt::format("the lookup of {} failed: {}", zone_known_to_be_signed, facts.signed_zone.why), ""};
    if (!facts.signed_zone.secure)
        return {Grade::note, std::string(subject), "not used: the name server does not validate (no AD bit)", advice};
    return {Grade::good, std::string(subject), "the name server validates", ""};
}

Finding clock_finding(bool synchronized) {
    if (synchronized) return {Grade::good, "clock", "synchronized", ""};
    return {Grade::note, "clock", "the kernel's clock is not synchronized: signatures and certificates depend on it",
            "Install chrony or systemd-timesyncd; in a container this is the host's business."};
}

} // namespace

std::vector<Finding> findings_of(const HostFacts& facts) {
    std::vector<Finding> findings{name_finding(facts), address_finding(facts)};
    for (const auto& each : facts.reverse) findings.push_back(reverse_finding(each, facts.host));
    findings.push_back(outgoing_finding(facts.outgoing));
    findings.push_back(resolver_finding(facts));
    findings.push_back(clock_finding(facts.clock_synchronized));
    return findings;
}

} // namespace postrider::setup
