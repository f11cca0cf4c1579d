// The part of a Connection that is about TLS: how much of it mail needs, the handshake, and what follows when
// it cannot be had.
#include "daemons/common/idn.h"
#include "daemons/smtp-client/connection.h"
#include <algorithm>
#include <fmt/format.h>

namespace smtp_client {

using common::Loop;
using decide::TlsLevel;

// What the domain's policy makes of the level: with the policy in force, as with `verify`; else as with `may`.
TlsLevel Connection::level_of(Job& job) {
    const auto level = configured_level(job);
    if (level != TlsLevel::sts) return level;
    return job.order.sts.mode == decide::sts::Mode::enforce ? TlsLevel::verify : TlsLevel::may;
}

// "" or why the policy of the mail's domain keeps it from this host.
std::string Connection::forbidden(const Job& job) const {
    const auto& policy = job.order.sts;
    if (policy.mode != decide::sts::Mode::enforce || decide::sts::admits(policy.mx, current_->name())) return "";
    return outside(policy);
}

std::string Connection::outside(const proto::route::StsPolicy& policy) const {
    return fmt::format("host {} is none of those in the MTA-STS policy of {} (id {})", current_->peer(), policy.domain,
                       policy.id);
}

TlsLevel Connection::configured_level(Job& job) {
    const auto otherwise = office_.settings.tls;
    if (!office_.tls_routes) return otherwise;
    auto strictest = TlsLevel::none;
    const auto take = [&](std::string_view address) {
        const auto domain = idn::ascii_domain(address.substr(address.rfind('@') + 1));
        strictest = std::max(strictest, office_.tls_routes->tls_level(domain, otherwise));
    };
    if (job.probe) {
        for (const auto& recipient : job.probe->recipients) take(recipient.address);
        return strictest;
    }
    if (job.order.recipients.empty()) return otherwise;
    if (!job.message)
        if (auto message = spool::MessageReader::open(office_.disk, job.order.queue_id, job.order.location))
            job.message = *std::move(message);
    if (!job.message) return otherwise; // why, is found again when it is handed over
    const auto& recipients = job.message->state().recipients;
    for (const auto number : job.order.recipients) // of one domain, unless an operator rerouted the message
        if (number < recipients.size()) take(recipients[number].address);
    return strictest;
}

smtp::ClientSession::StartTls Connection::tls_wanted() {
    using StartTls = smtp::ClientSession::StartTls;
    tls_ = {};
    tls_text_.clear();
    tls_result_ = decide::TlsResult::starttls_not_supported;
    shaking_hands_ = false;
    level_ = jobs_.empty() ? office_.settings.tls : level_of(*jobs_.front());
    if (current_->host.tls_wrap) return StartTls::wrapped;
    if (is_mandatory(level_)) return StartTls::always;
    return level_ == TlsLevel::none || plain_text_ || !office_.tls ? StartTls::never : StartTls::if_offered;
}

// A session may only be resumed by who would have agreed on it: same host, same address, same demands, and
// to the server the same client.
std::string Connection::resumption_name() const {
    return fmt::format("{} {} {} {}", current_->name(), current_->relay(), static_cast<int>(level_), source());
}

void Connection::start_tls() {
    tls_result_ = decide::TlsResult::validation_failure;
    // Whoever looks on wants to see the whole of it.
    const auto from = watcher_ ? tls::Resumption() : office_.resumptions.take(resumption_name());
    auto session = office_.tls ? tls::Session::connect(office_.tls, current_->name(), from.get()) : nullptr;
    if (!session)
        return session_->tls_failed("TLS cannot be started on this system", Loop::now().monotonic);
    wire_->start_tls(std::move(session));
    shaking_hands_ = true;
    shake_hands();
}

void Connection::shake_hands() {
    const auto outcome = wire_->shake_hands();
    if (outcome == Wire::Handshake::under_way) return;
    shaking_hands_ = false;
    if (outcome == Wire::Handshake::failed)
        return session_->tls_failed(
            fmt::format("TLS handshake with {} failed: {}", current_->peer(), wire_->handshake_error()),
            Loop::now().monotonic);
    judge_certificate();
}

void Connection::judge_certificate() {
    using Peer = tls::Facts::Peer;
    const auto facts = wire_->tls()->facts();
    tls_ = {true, facts.peer == Peer::trusted};
    tls_text_ = facts.version + " " + facts.cipher + (tls_.verified ? ", verified" : "");
    voice().info("{} TLS connection established to {}: {}",
                 tls_.verified                  ? "Verified"
                 : facts.peer == Peer::untrusted ? "Untrusted"
                                                 : "Anonymous",
                 relay(), facts.text());
    if (watcher_) watcher_->shook_hands(relay(), facts, level_);
    certificate_problem_ = facts.problem.empty() ? "there is none" : facts.problem;
    certificate_ = facts.problem.contains("mismatch")  ? decide::TlsResult::certificate_host_mismatch
                   : facts.problem.contains("expired") ? decide::TlsResult::certificate_expired
                                                       : decide::TlsResult::certificate_not_trusted;
    const auto now = Loop::now().monotonic;
    if (!satisfies(tls_, level_)) tls_result_ = certificate_;
    if (!satisfies(tls_, level_))
        return session_->tls_failed(
            fmt::format("the certificate of {} does not prove that it is {}: {}", current_->peer(),
                        current_->name(), certificate_problem_),
            now);
    using Session = smtp::ClientSession;
    session_->tls_up(tls_.verified ? Session::Peer::verified : Session::Peer::unverified, now);
}

// Of a session that served: one whose certificate was refused would bring that verdict back with it. Nor from
// before a reload, which may have changed whom we trust.
void Connection::keep_resumption() {
    if (up_ && wire_->tls() && wire_->tls()->is_of(office_.tls.get()))
        office_.resumptions.keep(resumption_name(), wire_->tls()->resumption());
}

// Where TLS is only welcome, a server that offers it and cannot do it gets its mail without: once more to the
// same address.
bool Connection::again_in_plain_text(const smtp::Verdict& why) {
    if (why.stage != smtp::Stage::tls || level_ != TlsLevel::may || plain_text_ || current_->host.tls_wrap)
        return false;
    voice().info("{}; trying again in plain text", why.text);
    plain_text_ = true;
    leave_session();
    dial_.again();
    return true;
}

} // namespace smtp_client
