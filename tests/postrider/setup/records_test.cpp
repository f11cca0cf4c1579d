#include "daemons/postrider/command/txt_strings.h"
#include "daemons/postrider/setup/records.h"
#include "daemons/postrider/setup/zone_text.h"
#include <doctest/doctest.h>

using namespace postrider;
using namespace postrider::setup;

namespace {

DomainFacts example() {
    return {.domain = "example.com",
            .host = "mail.example.com",
            .keys = {{"postrider", "v=DKIM1; k=rsa; p=MIIB"}},
            .sources = {"192.0.2.7", "2001:db8::7"},
            .receives = true};
}

std::string lines(const std::vector<RecordGroup>& groups) {
    std::string out;
    for (const auto& group : groups)
        for (const auto& record : group.records) out += zone_line(record) + (record.required ? "\n" : " (optional)\n");
    return out;
}

} // namespace

TEST_CASE("the records of a domain that this host sends and receives mail for") {
    CHECK(lines(records_for(example())) ==
          R"(example.com. 3600 IN TXT "v=spf1 a:mail.example.com ip4:192.0.2.7 ip6:2001:db8::7 ~all"
mail.example.com. 3600 IN TXT "v=spf1 a:mail.example.com ip4:192.0.2.7 ip6:2001:db8::7 -all"
postrider._domainkey.example.com. 3600 IN TXT "v=DKIM1; k=rsa; p=MIIB"
_dmarc.example.com. 3600 IN TXT "v=DMARC1; p=none; rua=mailto:postmaster@example.com"
example.com. 3600 IN MX 10 mail.example.com.
_mta-sts.example.com. 3600 IN TXT "v=STSv1; id=355f0fa5dc30cc39" (optional)
_smtp._tls.example.com. 3600 IN TXT "v=TLSRPTv1; rua=mailto:postmaster@example.com" (optional)
bounces.example.com. 3600 IN MX 10 mail.example.com. (optional)
bounces.example.com. 3600 IN TXT "v=spf1 a:mail.example.com ip4:192.0.2.7 ip6:2001:db8::7 -all" (optional)
)");
    CHECK(sts_policy(example()) == "version: STSv1\nmode: testing\nmx: mail.example.com\nmax_age: 604800\n");
}

TEST_CASE("the id of MTA-STS changes with the policy, and only then") {
    auto other = example();
    other.sources.clear();
    CHECK(records_for(other)[5].records == records_for(example())[5].records);
    other.host = "mx.example.com";
    CHECK(records_for(other)[5].records != records_for(example())[5].records);
}

TEST_CASE("a domain whose mail is received elsewhere needs no MX record that leads here") {
    auto facts = example();
    facts.receives = false;
    const auto groups = records_for(facts);
    CHECK_FALSE(groups[4].records[0].required);
    CHECK(groups[4].purpose.ends_with("leave this out if its mail is received elsewhere."));
}

TEST_CASE("the name of the domain is that of the host") {
    auto facts = example();
    facts.host = facts.domain;
    std::size_t spf = 0;
    for (const auto& group : records_for(facts))
        for (const auto& record : group.records) spf += record.kind == RecordKind::spf && record.name == facts.domain;
    CHECK(spf == 1); // two are an error (RFC 7208, 3.2)
}

TEST_CASE("texts in zone files") {
    CHECK(txt_strings("") == "\"\"");
    CHECK(txt_strings(R"(a "b" \)") == R"("a \"b\" \\")");
    const std::string key(600, 'k');
    const auto quoted = txt_strings(key);
    CHECK(quoted ==
          '"' + std::string(250, 'k') + "\" \"" + std::string(250, 'k') + "\" \"" + std::string(100, 'k') + '"');
    CHECK(zone_comment("short") == "; short\n");
    CHECK(zone_comment(std::string(40, 'a') + " " + std::string(40, 'b')) ==
          "; " + std::string(40, 'a') + "\n; " + std::string(40, 'b') + "\n");
}
