// AUTH by Dovecot's auth service over its client socket: the exchange is handed through, Dovecot decides. One
// connection for each exchange; the service is local and this keeps exchanges apart. Knows no mechanism.
#pragma once
#include "daemons/common/net/client_stream.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/smtpd/auth/authentication.h"

namespace smtpd {

class DovecotAuthentication final : public Authentication {
public:
    DovecotAuthentication(common::Loop& loop, const std::string& socket, AuthChannel channel,
                          AuthConcurrency concurrency);
    ~DovecotAuthentication() override { concurrency_.limiter->release(ticket_); }

    void start(const std::string& mechanism, const smtp::Secret* initial, Done done) override;
    void respond(const smtp::Secret& response, Done done) override;

private:
    void on_data(std::string_view bytes);
    void line(std::string_view line);
    void begin();
    void finish(AuthStep step);
    void send_when_admitted(std::function<void()> question, Done done);

    AuthChannel channel_;
    AuthConcurrency concurrency_;
    ConcurrencyLimiter::Ticket ticket_ = 0; // while a question to Dovecot waits or is open
    std::string mechanism_, input_;
    smtp::Secret initial_;
    bool has_initial_ = false, server_ready_ = false, started_ = false, request_sent_ = false, finished_ = false;
    Done done_;
    common::Timer timeout_;
    common::ClientStream stream_;
};

} // namespace smtpd
