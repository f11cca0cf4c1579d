// The header of a message that is received, rewritten before milters see it: by canonical tables, then by masquerading,
// each for the mail of its origins. A check that never rejects, but for a table that cannot answer. Knows the session's
// client; must not know how addresses are found.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/rewriting/canonical_header.h"
#include "daemons/decide/message/signing.h"
#include "daemons/smtpd/policy/policy_chain.h"
#include "daemons/smtpd/policy/rules.h"
#include "daemons/smtpd/session/policy_sources.h"
#include <memory>
#include <optional>

namespace smtpd {

class HeaderRewriting final : public PolicyCheck {
public:
    // `of_our_networks`: the client is in relay.networks.
    HeaderRewriting(const Rules& rules, bool of_our_networks, std::shared_ptr<PolicySources> sources, common::Log& log);
    bool asked_after_permit() const override { return true; }
    std::optional<PolicyVerdict> ask(Stage stage, const PolicyContext& context, Done done) override;
    void transaction_over() override { header_.reset(); }

private:
    decide::MailOrigin origin_of(const PolicyContext& context) const;
    void loaded(const PolicyContext& context);
    void take(const PolicyContext& context, common::CanonicalHeader::Outcome outcome);
    void masquerade(const PolicyContext& context);
    void finish(PolicyVerdict verdict);

    std::shared_ptr<const Settings> config_;
    const config::Service service_;
    const bool of_our_networks_;
    std::shared_ptr<PolicySources> sources_;
    common::Log& log_;
    bool canonical_applies_ = false, masquerade_applies_ = false;
    std::optional<common::CanonicalHeader> header_; // being rewritten
    std::optional<PolicyVerdict> verdict_;          // until it is handed out
    Done done_;
};

} // namespace smtpd
