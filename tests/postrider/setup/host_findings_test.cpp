#include "daemons/postrider/setup/host_findings.h"
#include "daemons/postrider/setup/setup_text.h"
#include <doctest/doctest.h>

using namespace postrider::setup;
using dns::LookupStatus;

namespace {

common::IpAddress ip(std::string_view text) { return *common::IpAddress::parse(text); }

HostFacts fit() {
    HostFacts facts;
    facts.host = "mail.example.com";
    facts.ipv4.said = LookupStatus::records;
    facts.ipv4.addresses = {ip("192.0.2.1")};
    facts.ipv6.said = LookupStatus::no_data;
    facts.reverse = {{ip("192.0.2.1"), "mail.example.com", "mail.example.com"}};
    facts.outgoing = {.next_hop = "", .server = "mx.test[192.0.2.9]:25", .greeting = "220 mx.test", .error = ""};
    facts.trusts_name_servers = true;
    facts.signed_zone.said = LookupStatus::records;
    facts.signed_zone.secure = true;
    facts.clock_synchronized = true;
    return facts;
}

std::string text(const HostFacts& facts) { return findings_text(findings_of(facts)); }

// The lines that differ from those of a host that is fit.
std::string change(void (*make)(HostFacts&)) {
    auto facts = fit();
    make(facts);
    std::string out;
    for (const auto& finding : findings_of(facts))
        if (finding.grade != Grade::good)
            out += std::string(name_of(finding.grade)) + " " + finding.subject + ": " + finding.text + "\n";
    return out;
}

} // namespace

TEST_CASE("a host that is fit to send mail") {
    CHECK(text(fit()) == R"(ok    host name: mail.example.com
ok    address: mail.example.com is 192.0.2.1
ok    reverse name: 192.0.2.1 is mail.example.com
ok    port 25: mx.test[192.0.2.9]:25 says 220 mx.test
ok    DNSSEC: the name server validates
ok    clock: synchronized
)");
}

TEST_CASE("what a host lacks") {
    CHECK(change([](HostFacts& f) { f.host = "mail"; }) ==
          "bad host name: \"mail\" is not fully qualified\n"
          "note reverse name: 192.0.2.1 is mail.example.com, and this host calls itself mail\n");
    CHECK(change([](HostFacts& f) {
              f.ipv4 = {};
              f.ipv4.said = LookupStatus::no_name;
              f.reverse.clear();
          }) == "bad address: mail.example.com has no A and no AAAA record\n");
    CHECK(change([](HostFacts& f) {
              f.ipv4 = {};
              f.ipv4.why = "timeout";
              f.reverse.clear();
          }) == "bad address: the lookup of mail.example.com failed: timeout\n");
    CHECK(change([](HostFacts& f) { f.ipv6.addresses = {ip("fd00::1"), ip("2001:db8::1")}; }) ==
          "bad address: mail.example.com has an address that other networks cannot reach: fd00::1\n");
    CHECK(change([](HostFacts& f) { f.reverse[0] = {ip("192.0.2.1"), "", ""}; }) ==
          "bad reverse name: 192.0.2.1 has no PTR record: many sites reject its mail\n");
    CHECK(change([](HostFacts& f) { f.reverse[0].confirmed = ""; }) ==
          "bad reverse name: the PTR record of 192.0.2.1 is mail.example.com, which does not have this address\n");
    CHECK(change([](HostFacts& f) { f.outgoing.greeting = "", f.outgoing.error = "connection timed out"; }) ==
          "bad port 25: mx.test[192.0.2.9]:25: connection timed out\n");
    CHECK(change([](HostFacts& f) { f.outgoing = {"", "", "", "gmail.com has no MX record"}; }) ==
          "bad port 25: not tried: gmail.com has no MX record\n");
    CHECK(change([](HostFacts& f) { f.outgoing = {"[relay.example.net]:587", "", "", ""}; }) ==
          "note port 25: not tried: all mail goes to [relay.example.net]:587 by the configuration\n");
    CHECK(change([](HostFacts& f) { f.trusts_name_servers = false; }) ==
          "note DNSSEC: not used: the name servers are not on this host\n");
    CHECK(change([](HostFacts& f) { f.signed_zone.secure = false; }) ==
          "note DNSSEC: not used: the name server does not validate (no AD bit)\n");
    CHECK(change([](HostFacts& f) { f.signed_zone.said = LookupStatus::failed, f.signed_zone.why = "timeout"; }) ==
          "bad DNSSEC: the lookup of org failed: timeout\n");
    CHECK(change([](HostFacts& f) { f.clock_synchronized = false; }) ==
          "note clock: the kernel's clock is not synchronized: signatures and certificates depend on it\n");
}

TEST_CASE("what others have written stays in its line") {
    auto facts = fit();
    facts.outgoing.greeting = "220 mx\nexample.com. IN A 192.0.2.66\x1b[2J" + std::string(5000, 'x');
    const auto lines = text(facts);
    CHECK(lines.find("220 mx?example.com. IN A 192.0.2.66?[2Jxxx") != lines.npos);
    CHECK(lines.size() < 1500);
}

TEST_CASE("the lines by which mail is signed") {
    const DomainKey made{.record = {"s1", "v=DKIM1; p=x"}, .file = "/etc/postrider/dkim/s1.pem", .generated = true};
    CHECK(signing_configuration("example.com", {made}) ==
          "[dkim.\"example.com\"]\nkeys = [\"s1 /etc/postrider/dkim/s1.pem\"]\n");
    auto used = made;
    used.configured = true;
    CHECK(signing_configuration("example.com", {used}).empty());
}
