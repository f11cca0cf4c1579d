// The part of a Connection that tells what came of TLS with a host, for the reports that the mail's domain may
// ask for (RFC 8460). What a policy in testing would have stopped is told like what one in force has stopped.
#include "daemons/common/idn.h"
#include "daemons/smtp-client/connection.h"

namespace smtp_client {

using decide::TlsResult;

// Who sent the delivery's mail, and the domain it is for; nothing: the message cannot be read.
std::optional<Connection::Subject> Connection::subject_of(const Job& job) const {
    const auto& numbers = job.order.recipients;
    const auto of = [&](const spool::MessageReader& message) -> std::optional<Subject> {
        const auto& recipients = message.state().recipients;
        if (numbers.empty() || numbers[0] >= recipients.size()) return {};
        const auto& recipient = recipients[numbers[0]];
        const std::string_view address = recipient.address;
        return Subject{message.state().reverse_path_of(recipient),
                       idn::ascii_domain(address.substr(address.rfind('@') + 1))};
    };
    if (job.message) return of(*job.message);
    const auto message = spool::MessageReader::open(office_.disk, job.order.queue_id, job.order.location,
                                                    spool::ReadLock::none);
    return message ? of(*message) : std::nullopt;
}

void Connection::tell_tls(TlsResult result, const std::string& reason) const {
    if (!office_.tls_outcome || jobs_.empty() || level_ == decide::TlsLevel::none) return;
    const auto& job = *jobs_.front();
    const auto subject = subject_of(job);
    // Two systems would report on their reports for ever.
    if (!subject || subject->reverse_path == office_.tls_reports_from) return;
    const auto& policy = job.order.sts;
    decide::TlsOutcome outcome;
    outcome.domain = policy.mode == decide::sts::Mode::none ? subject->domain : policy.domain;
    outcome.host = current_->name();
    outcome.address = current_->endpoint.address.to_string();
    outcome.sender = wire_ ? wire_->local_address() : "";
    if (policy.mode != decide::sts::Mode::none) outcome.policy = decide::TlsPolicyType::sts;
    outcome.result = result;
    outcome.reason = reason;
    office_.tls_outcome(outcome);
}

// The session is up, and mail goes by it.
void Connection::tell_up() const {
    if (plain_text_ || jobs_.empty()) return; // why there is no TLS was told when it failed
    const auto& policy = jobs_.front()->order.sts;
    if (!tls_.encrypted) return tell_tls(TlsResult::starttls_not_supported, "");
    if (policy.mode == decide::sts::Mode::testing) {
        if (!decide::sts::admits(policy.mx, current_->name()))
            return tell_tls(TlsResult::validation_failure, outside(policy));
        if (!tls_.verified) return tell_tls(certificate_, certificate_problem_);
    }
    tell_tls(TlsResult::success, "");
}

} // namespace smtp_client
