// The part of a Connection that tells what came of TLS with a host, for the reports that the mail's domain may
// ask for (RFC 8460). What a policy in testing would have stopped is told like what one in force has stopped.
#include "daemons/smtp-client/session/connection.h"

namespace smtp_client {

using decide::TlsResult;

bool Connection::has_tlsa_records() const {
    return findings_ && findings_->state != decide::DaneResult::State::absent;
}

void Connection::report_tls_result(TlsResult result, const std::string& reason) const {
    if (observer_) return; // no mail was to go by it
    if (!context_.tls_outcome || jobs_.empty() || demand_ == decide::TlsDemand::plain) return;
    // Two systems would report on their reports for ever.
    if (needs_.domain.empty() || needs_.of_report) return;
    const auto& policy = jobs_.front()->order.sts;
    const bool dane = has_tlsa_records();
    decide::TlsOutcome outcome;
    outcome.domain = dane || policy.mode == decide::sts::Mode::none ? needs_.domain : policy.domain;
    outcome.host = current_->name();
    outcome.address = current_->endpoint.address.to_string();
    outcome.helo = session_ ? session_->server_name() : "";
    outcome.sender = stream_ ? stream_->local_address() : "";
    if (dane) {
        outcome.policy = decide::TlsPolicyType::tlsa;
        for (const auto& record : findings_->records) outcome.records.push_back(record.to_string());
    } else if (policy.mode != decide::sts::Mode::none) {
        outcome.policy = decide::TlsPolicyType::sts;
    }
    outcome.result = result;
    outcome.reason = reason;
    context_.tls_outcome(outcome);
}

// The session is up, and mail goes by it.
void Connection::report_session_up() const {
    if (plain_text_ || jobs_.empty()) return; // why there is no TLS was told when it failed
    const auto& policy = jobs_.front()->order.sts;
    if (!tls_.encrypted) return report_tls_result(TlsResult::starttls_not_supported, "");
    if (policy.mode == decide::sts::Mode::testing && !has_tlsa_records()) {
        if (!decide::sts::admits(policy.mx, current_->name()))
            return report_tls_result(TlsResult::validation_failure, not_in_policy_text(policy));
        if (!tls_.verified()) return report_tls_result(certificate_, certificate_problem_);
    }
    report_tls_result(TlsResult::success, "");
}

} // namespace smtp_client
