// A Connection under TLS: the handshake, and bytes on their way through it. Plain connections never come
// here.
#include "daemons/smtpd/session/connection.h"
#include <algorithm>

namespace smtpd {

void Connection::operator()(smtp::event::StartTls&) {
    answer({220, {2, 0, 0}, "Ready to start TLS"});
    if (session_.ending()) return;
    flush(); // the last words in plain text
    start_tls();
}

void Connection::start_tls() {
    tls_ = rules_->tls ? tls::Session::accept(rules_->tls) : nullptr;
    if (!tls_) { // a listener that must have TLS and cannot
        log_context().warning("no TLS for {}", client_.peer());
        hung_up_ = true;
        return session_.question_open()
                   ? answer({421, {4, 7, 0}, settings().hostname + " TLS is not available"})
                   : session_.disconnected();
    }
    deadline_.set(common::Loop::now().monotonic +
                  std::min(rules_->config->tls.handshake_timeout, settings().command_time));
}

void Connection::on_encrypted_data(std::string_view bytes) {
    tls_->feed(bytes);
    if (handshaking()) {
        continue_handshake();
        if (handshaking()) return;
    }
    using Progress = tls::Session::Progress;
    char space[16384]; // a record's size
    while (true) {
        std::size_t taken = 0;
        switch (tls_->read(space, taken)) {
        case Progress::done: session_.feed({space, taken}, common::Loop::now().monotonic); continue;
        case Progress::wants_more: return;
        case Progress::closed: hung_up_ = true; return session_.disconnected();
        case Progress::failed:
            log_context().info("SSL_read error from {}: {}", client_.peer(), tls_->error());
            hung_up_ = true;
            return session_.disconnected();
        }
    }
}

void Connection::continue_handshake() {
    using Progress = tls::Session::Progress;
    switch (tls_->handshake()) {
    case Progress::wants_more: return;
    case Progress::closed: return handshake_failed("lost connection");
    case Progress::failed: return handshake_failed(tls_->error());
    case Progress::done: break;
    }
    tls_facts_ = tls_->info();
    worker_.metrics.count(common::MetricId::tls_sessions, common::tls_used(tls_facts_.version));
    session_.tls_up(common::Loop::now().monotonic);
    client_.user.clear(); // who it was in plain text, anybody in between may have said (RFC 3207, 4.2)
    client_.auth_method.clear();
    constexpr std::string_view kinds[] = {"Anonymous", "Untrusted", "Trusted"};
    log_context().info("{} TLS connection established from {}{}: {}",
                 kinds[static_cast<std::size_t>(tls_facts_.peer)], client_.peer(),
                 tls_facts_.server_name.empty() ? "" : " to " + tls_facts_.server_name, tls_facts_.text());
    if (implicit_tls()) send_banner();
}

// What OpenSSL has to say to the client (an alert) still goes out; nothing of ours does.
void Connection::handshake_failed(std::string_view why) {
    worker_.metrics.count(common::MetricId::tls_failures);
    log_context().info("SSL_accept error from {}: {}", client_.peer(), why);
    hung_up_ = true;
    session_.disconnected();
    if (session_.question_open())
        answer({220, {}, ""}); // implicit TLS: the session hears that the client is gone
}

std::string Connection::encrypt(std::string_view plain) {
    tls_->write(plain);
    if (session_.closed()) tls_->close();
    return tls_->output();
}

} // namespace smtpd
