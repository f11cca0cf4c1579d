// The part of a Connection that is about TLS: how much of it mail needs, the handshake, and what follows when
// it cannot be had.
#include "daemons/common/idn.h"
#include "daemons/smtp-client/connection.h"
#include <algorithm>
#include <fmt/format.h>

namespace smtp_client {

using common::Loop;
using decide::TlsLevel;

TlsLevel Connection::level_of(Job& job) {
    if (current_ && current_->local()) return TlsLevel::none; // nobody listens in between
    const auto otherwise = office_.settings.tls;
    if (!office_.tls_routes || job.order.recipients.empty()) return otherwise;
    if (!job.message)
        if (auto message = spool::MessageReader::open(office_.disk, job.order.queue_id, job.order.location))
            job.message = *std::move(message);
    if (!job.message) return otherwise; // why, is found again when it is handed over
    const auto& recipients = job.message->state().recipients;
    auto strictest = TlsLevel::none;
    for (const auto number : job.order.recipients) { // of one domain, unless an operator rerouted the message
        if (number >= recipients.size()) continue;
        const std::string_view address = recipients[number].address;
        const auto domain = idn::ascii_domain(address.substr(address.rfind('@') + 1));
        strictest = std::max(strictest, office_.tls_routes->tls_level(domain, otherwise));
    }
    return strictest;
}

smtp::ClientSession::StartTls Connection::tls_wanted() {
    using StartTls = smtp::ClientSession::StartTls;
    tls_ = {};
    tls_text_.clear();
    shaking_hands_ = false;
    level_ = current_->local() ? TlsLevel::none
             : jobs_.empty()   ? office_.settings.tls
                               : level_of(*jobs_.front());
    if (is_mandatory(level_)) return StartTls::always;
    return level_ == TlsLevel::none || plain_text_ || !office_.tls ? StartTls::never : StartTls::if_offered;
}

// A session may only be resumed by who would have agreed on it: same host, same address, same demands.
std::string Connection::resumption_name() const {
    return fmt::format("{} {} {}", current_->name(), current_->relay(), static_cast<int>(level_));
}

void Connection::start_tls() {
    const auto from = office_.resumptions.take(resumption_name());
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
    const auto now = Loop::now().monotonic;
    if (!satisfies(tls_, level_))
        return session_->tls_failed(
            fmt::format("the certificate of {} does not prove that it is {}: {}", current_->peer(),
                        current_->name(), facts.problem.empty() ? "there is none" : facts.problem),
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
    if (why.stage != smtp::Stage::tls || level_ != TlsLevel::may || plain_text_) return false;
    voice().info("{}; trying again in plain text", why.text);
    plain_text_ = true;
    same_address_again();
    return true;
}

} // namespace smtp_client
