#include "daemons/import-postfix/restrictions/certificate_permits.h"
#include "daemons/import-postfix/import/tables.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

namespace {

constexpr std::string_view fingerprints = "relay_clientcerts", digest = "smtpd_tls_fingerprint_digest",
                           listed_certificates = "permit_tls_clientcerts",
                           all_certificates = "permit_tls_all_clientcerts";

} // namespace

void CertificatePermits::start() {
    for (auto* permit : {&listed_, &verified_}) permit->permits = true, permit->named = false;
}

void CertificatePermits::read(Permit& permit, const std::vector<postfix::Restriction>& restrictions,
                              std::string_view word) {
    permit.permits = permit.permits && postfix::permits_relay(restrictions, word);
    permit.named = permit.named || postfix::permits_by_name(restrictions, word);
}

void CertificatePermits::read(const std::vector<postfix::Restriction>& restrictions, bool for_relaying) {
    some_named_ = some_named_ || std::ranges::find(restrictions, listed_certificates, &postfix::Restriction::word) !=
                                     restrictions.end();
    if (!for_relaying) return;
    read(listed_, restrictions, listed_certificates);
    read(verified_, restrictions, all_certificates);
}

void CertificatePermits::finish(const Import::Listener& listener) {
    const auto* asks = import_.draft.find(fmt::format("listen.{}.client_certificates", listener.name));
    if (!asks || asks->value != "true") return;
    for (auto* permit : {&listed_, &verified_}) {
        permit->some_permit = permit->some_permit || (permit->permits && permit->named);
        if (!permit->permits) permit->others.push_back(&listener);
    }
}

bool CertificatePermits::permit_some() const {
    return (listed_.permits && listed_.some_permit && !import_.words(fingerprints).empty() &&
            import_.value(digest) == "sha256") ||
           (verified_.permits && verified_.some_permit && import_.draft.find("tls.client_ca_file"));
}

void CertificatePermits::write() {
    import_.mark_converted(fingerprints);
    import_.mark_converted(digest);
    if (some_named_ && !listed_.some_permit && !import_.words(fingerprints).empty())
        import_.mark_unsupported(fingerprints,
                                 "no list permits relaying by it: add it to relay.client_certificates, which permits "
                                 "that, if its clients are to be known by permit_tls_clientcerts",
                                 IfLost::harmless);
    if (listed_.some_permit && !import_.words(fingerprints).empty()) {
        if (import_.value(digest) != "sha256")
            import_.mark_unsupported(
                fingerprints,
                fmt::format("it has fingerprints by {}: list those by SHA-256 (openssl x509 -noout -fingerprint "
                            "-sha256) in relay.client_certificates",
                            import_.value(digest)),
                IfLost::harmless);
        else if (const auto tables = converted_tables(import_, fingerprints); !tables.empty()) {
            import_.set("relay.client_certificates", toml(tables), fingerprints);
            report_others(listed_, listed_certificates, "relay.client_certificates");
        }
    }
    if (verified_.some_permit && import_.draft.find("tls.client_ca_file")) {
        import_.draft.set("relay.verified_client_certificates", "true", std::string(all_certificates));
        report_others(verified_, all_certificates, "relay.verified_client_certificates");
    }
}

// Listeners that ask for certificates, and where the word does not stand: ours permits relaying on all of them.
void CertificatePermits::report_others(const Permit& permit, std::string_view word, std::string_view key) {
    for (const auto* listener : permit.others)
        import_.record_unguarded(*listener->service, fmt::format("no {}", word),
                                 fmt::format("clients that {} permits may relay here too: another listener permits "
                                             "it, and the key applies to all that ask for certificates",
                                             key));
}

} // namespace postrider
