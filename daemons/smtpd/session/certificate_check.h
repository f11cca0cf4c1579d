// What the certificate that a client has shown permits it: whether it is valid, and whether relay.client_certificates
// lists its fingerprint or an authority of ours vouches for it. Knows the tables; must not know the session.
#pragma once
#include "daemons/common/access/access_lookups.h"
#include "daemons/smtpd/policy/relay_policy.h"
#include "daemons/smtpd/policy/rules.h"
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace smtpd {

class CertificateCheck {
public:
    using Done = std::function<void(CertificatePermission)>;

    // All outlive it. `lookups`: null if there are no tables.
    CertificateCheck(const Rules& rules, const tls::ClientCertificate& certificate,
                     std::shared_ptr<common::AccessLookups> lookups);
    CertificateCheck(const CertificateCheck&) = delete;

    // The permission; or none yet, and `done` is called once from the loop. It may destroy this.
    std::optional<CertificatePermission> ask(smtp::WallTime now, Done done);

private:
    // Nothing: the answer is being fetched.
    std::optional<CertificatePermission> look_up();
    CertificatePermission permitted(std::string_view name, bool listed) const;
    void fetch();

    const Rules& rules_;
    const tls::ClientCertificate& certificate_;
    const bool has_tables_;
    common::AccessAnswers answers_;
    decide::access::Questions questions_;
    Done done_;
};

} // namespace smtpd
