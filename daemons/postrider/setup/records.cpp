#include "daemons/postrider/setup/records.h"
#include "daemons/common/crypto/dkim/signing_key.h"
#include <fmt/format.h>

namespace postrider::setup {

namespace {

constexpr std::size_t id_bytes = 8; // of the policy's hash

std::string spf(const std::string& host, const std::vector<std::string>& sources, std::string_view all) {
    std::string text = "v=spf1 a:" + host;
    for (const auto& address : sources)
        text += fmt::format(" {}:{}", address.find(':') == address.npos ? "ip4" : "ip6", address);
    return fmt::format("{} {}", text, all);
}

// Changes exactly when the policy does, as RFC 8461 wants it.
std::string policy_id(const std::string& policy) {
    dkim::Sha256 hash;
    hash.update(policy);
    std::string id;
    for (const unsigned char byte : hash.finish().substr(0, id_bytes)) id += fmt::format("{:02x}", byte);
    return id;
}

// A domain that is the host's own name has one record for both: two are an error (RFC 7208, 3.2).
RecordGroup host_group(const DomainFacts& facts) {
    RecordGroup group{"SPF of the host's own name: for reports, whose sender is empty.", {}};
    if (facts.host != facts.domain)
        group.records.push_back({RecordKind::spf, facts.host, spf(facts.host, facts.sources, "-all")});
    return group;
}

RecordGroup dkim_group(const DomainFacts& facts) {
    RecordGroup group{"DKIM: the public keys by which others verify this host's signatures.", {}};
    for (const auto& key : facts.keys)
        group.records.push_back(
            {RecordKind::dkim, fmt::format("{}._domainkey.{}", key.selector, facts.domain), key.record});
    return group;
}

} // namespace

std::string sts_policy(const DomainFacts& facts) {
    return fmt::format("version: STSv1\nmode: testing\nmx: {}\nmax_age: 604800\n", facts.host);
}

std::vector<RecordGroup> records_for(const DomainFacts& facts) {
    const auto& domain = facts.domain;
    const auto bounces = "bounces." + domain;
    const auto reports = "rua=mailto:postmaster@" + domain;
    const std::string only_if = facts.receives
                                    ? ""
                                    : fmt::format(" The configuration does not accept mail for {}: leave this out if "
                                                  "its mail is received elsewhere.",
                                                  domain);
    return {
        {"SPF: the hosts that may send mail from this domain. Add those of other services that do.",
         {{RecordKind::spf, domain, spf(facts.host, facts.sources, "~all")}}},
        host_group(facts),
        dkim_group(facts),
        {"DMARC: what others do with mail that neither SPF nor DKIM confirms. Begin with none, read the reports, then "
         "use quarantine or reject.",
         {{RecordKind::dmarc, "_dmarc." + domain, "v=DMARC1; p=none; " + reports}}},
        {"MX: the host that receives mail for the domain." + only_if,
         {{RecordKind::mx, domain, facts.host, facts.receives}}},
        {"MTA-STS: other hosts use TLS when they send mail here. It also needs the policy below on a web server." +
             only_if,
         {{RecordKind::mta_sts, "_mta-sts." + domain, fmt::format("v=STSv1; id={}", policy_id(sts_policy(facts))),
           false}}},
        {"TLSRPT: others report when TLS with this host fails." + only_if,
         {{RecordKind::tls_rpt, "_smtp._tls." + domain, "v=TLSRPTv1; " + reports, false}}},
        {"A domain for bounces: for programs that give each message a return path of its own, such as list managers.",
         {{RecordKind::mx, bounces, facts.host, false},
          {RecordKind::spf, bounces, spf(facts.host, facts.sources, "-all"), false}}},
    };
}

} // namespace postrider::setup
