// The part of a Connection that tells what came of TLS with a host, for the reports that the mail's domain may
// ask for (RFC 8460). What a policy in testing would have stopped is told like what one in force has stopped.
#include "daemons/smtp-client/session/connection.h"

namespace smtp_client {

using decide::TlsResult;

bool Connection::findings_speak() const {
    return findings_ && findings_->state != decide::DaneFindings::State::absent;
}

void Connection::tell_tls(TlsResult result, const std::string& reason) const {
    if (watcher_) return; // no mail was to go by it
    if (!office_.tls_outcome || jobs_.empty() || demand_ == decide::TlsDemand::plain) return;
    // Two systems would report on their reports for ever.
    if (needs_.domain.empty() || needs_.of_report) return;
    const auto& policy = jobs_.front()->order.sts;
    const bool dane = findings_speak();
    decide::TlsOutcome outcome;
    outcome.domain = dane || policy.mode == decide::sts::Mode::none ? needs_.domain : policy.domain;
    outcome.host = current_->name();
    outcome.address = current_->endpoint.address.to_string();
    outcome.helo = session_ ? session_->announced() : "";
    outcome.sender = wire_ ? wire_->local_address() : "";
    if (dane) {
        outcome.policy = decide::TlsPolicyType::tlsa;
        for (const auto& record : findings_->records) outcome.records.push_back(record.to_string());
    } else if (policy.mode != decide::sts::Mode::none) {
        outcome.policy = decide::TlsPolicyType::sts;
    }
    outcome.result = result;
    outcome.reason = reason;
    office_.tls_outcome(outcome);
}

// The session is up, and mail goes by it.
void Connection::tell_up() const {
    if (plain_text_ || jobs_.empty()) return; // why there is no TLS was told when it failed
    const auto& policy = jobs_.front()->order.sts;
    if (!tls_.encrypted) return tell_tls(TlsResult::starttls_not_supported, "");
    if (policy.mode == decide::sts::Mode::testing && !findings_speak()) {
        if (!decide::sts::admits(policy.mx, current_->name()))
            return tell_tls(TlsResult::validation_failure, outside(policy));
        if (!tls_.verified()) return tell_tls(certificate_, certificate_problem_);
    }
    tell_tls(TlsResult::success, "");
}

} // namespace smtp_client
