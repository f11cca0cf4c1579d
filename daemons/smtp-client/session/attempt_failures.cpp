#include "daemons/smtp-client/session/attempt_failures.h"
#include "daemons/smtp-client/message/results.h"
#include <utility>

namespace smtp_client {

void AttemptFailures::address_unreachable(AttemptFailure failure) {
    address_may_exist_ = other_hosts_failed_ = true;
    last_ = std::move(failure);
}

void AttemptFailures::no_address(smtp::Verdict why, MayExist may_exist) {
    no_address_ = std::move(why);
    if (may_exist == MayExist::yes) address_may_exist_ = other_hosts_failed_ = true;
}

void AttemptFailures::out_of_addresses() {
    if (no_address_ && last_.why.text.empty()) last_.why = *no_address_;
}

void AttemptFailures::loop_found(AttemptFailure failure) {
    loop_found_ = true;
    last_ = std::move(failure);
}

void AttemptFailures::host_failed(AttemptFailure failure) {
    other_hosts_failed_ = true;
    last_ = std::move(failure);
}

void AttemptFailures::requirement_missing(AttemptFailure failure, std::uint64_t delivery) {
    last_ = std::move(failure);
    requirement_ = last_;
    requirement_delivery_ = delivery;
}

// A host that could be reached does not do what the message requires: that is the message's own affair. It is
// returned, unless one of the other hosts may do it another time.
AttemptFailure AttemptFailures::requirement_failure() const {
    auto failed = *requirement_;
    if (other_hosts_failed_) {
        failed.why.outcome = smtp::Outcome::deferred;
        failed.why.status = "4.7.30";
        failed.why.text += "; other hosts cannot be reached";
    }
    if (soft_bounce_ == SoftBounce::yes) apply_soft_bounce(failed.why);
    return failed;
}

AttemptFailures::Conclusion AttemptFailures::conclude(Hosts hosts) const {
    auto failed = mail_ ? *mail_ : policy_ ? *policy_ : last_;
    const bool final = !address_may_exist_ && soft_bounce_ == SoftBounce::no;
    const bool loop = loop_found_ && final;
    // No MX host has an address, as the name servers in charge say: waiting changes nothing. The hosts that the
    // operator has named (hosts to fall back on, a domain whose SRV records count) can be corrected.
    const bool nowhere = loop || (hosts == Hosts::as_published && no_address_ && final);
    auto& why = failed.why;
    if (nowhere) {
        why.outcome = smtp::Outcome::failed;
        why.status = loop ? "5.4.6" : "5.4.4";
    } else if (why.outcome == smtp::Outcome::failed) {
        // What a server says of itself is no verdict on the mail: that waits.
        why.outcome = smtp::Outcome::deferred;
        if (why.status.starts_with('5')) why.status[0] = '4';
    }
    // A server that accepted MAIL, or could be talked to without TLS, proved its link.
    return {std::move(failed), nowhere, mail_ || policy_ || nowhere};
}

} // namespace smtp_client
