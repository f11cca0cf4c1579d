#include "daemons/smtpd/session/header_rewriting.h"
#include "daemons/common/rewriting/header_masquerade.h"
#include <utility>

namespace smtpd {

HeaderRewriting::HeaderRewriting(const Rules& rules, bool of_our_networks, std::shared_ptr<PolicySources> sources,
                                 common::Log& log)
    : config_(rules.config), service_(rules.listener.service), of_our_networks_(of_our_networks),
      sources_(std::move(sources)), log_(log) {}

decide::MailOrigin HeaderRewriting::origin_of(const PolicyContext& context) const {
    using decide::MailOrigin;
    MailOrigin out = context.client.address.is_loopback() ? MailOrigin::local : MailOrigin{};
    if (service_ == config::Service::submission) out = out | MailOrigin::submission;
    if (!context.sasl_user.empty()) out = out | MailOrigin::authenticated;
    if (of_our_networks_) out = out | MailOrigin::networks;
    return out == MailOrigin{} ? MailOrigin::other : out;
}

std::optional<PolicyVerdict> HeaderRewriting::ask(Stage stage, const PolicyContext& context, Done done) {
    if (stage != Stage::end_of_data || context.discarded) return PolicyVerdict{};
    const auto origin = origin_of(context);
    const auto& masquerade = config_->addresses.masquerade;
    const auto& canonical = sources_->canonical;
    canonical_applies_ = canonical && any_of(canonical->rules.header_origins, origin);
    masquerade_applies_ = masquerade.rewrites_headers() && any_of(masquerade.header_origins, origin);
    if (!canonical_applies_ && !masquerade_applies_) return PolicyVerdict{};
    verdict_.reset();
    done_ = nullptr;
    context.message->load([this, &context](const spool::Result<>& result) {
        if (result)
            loaded(context);
        else
            finish(PolicyVerdict::rejection({451, {4, 3, 0}, "Error: queue file read error"}));
    });
    if (!verdict_) done_ = std::move(done);
    return std::exchange(verdict_, {});
}

void HeaderRewriting::loaded(const PolicyContext& context) {
    if (!canonical_applies_) return masquerade(context);
    header_.emplace(*sources_->canonical, *context.message);
    auto outcome =
        header_->run([this, &context](common::CanonicalHeader::Outcome late) { take(context, std::move(late)); });
    if (outcome) take(context, *std::move(outcome));
}

void HeaderRewriting::take(const PolicyContext& context, common::CanonicalHeader::Outcome outcome) {
    for (const auto& warning : outcome.warnings)
        log_.warning("{}: canonical tables do not change all of the header: {}", context.queue_id, warning);
    if (!outcome.failed.empty() || sources_->canonical_failing) {
        const auto problem = sources_->canonical->tables.problem();
        sources_->problems.set("canonical tables", problem);
        sources_->canonical_failing = !problem.empty();
    }
    if (outcome.failed.empty()) return masquerade(context);
    log_.warning("{}: canonical tables: {}", context.queue_id, outcome.failed);
    finish(PolicyVerdict::rejection({451, {4, 3, 0}, "Temporary lookup failure"}));
}

void HeaderRewriting::masquerade(const PolicyContext& context) {
    if (masquerade_applies_) {
        const auto& [rules, classes, origins] = config_->addresses.masquerade;
        if (const auto why = common::masquerade_header(rules, classes, *context.message); !why.empty())
            log_.warning("{}: addresses in the header are not masqueraded: {}", context.queue_id, why);
    }
    finish({});
}

// The header in work may be the caller: it stays until the next one.
void HeaderRewriting::finish(PolicyVerdict verdict) {
    verdict_ = std::move(verdict);
    if (const auto late = std::exchange(done_, nullptr)) late(*std::exchange(verdict_, {}));
}

} // namespace smtpd
