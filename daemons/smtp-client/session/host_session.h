// The conversation with one host that was reached: its records, TLS, AUTH, and the bytes between the stream and the
// session. Passive: its owner calls it when something can be done, and takes the session's events. Knows no delivery
// and no other host.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/smtp-client/auth/authenticator.h"
#include "daemons/smtp-client/connect/connector.h"
#include "daemons/smtp-client/context/client_context.h"
#include "daemons/smtp-client/session/session_observer.h"
#include "daemons/smtp-client/session/setup_clock.h"
#include "daemons/smtp-client/tls/dane_lookup.h"
#include "daemons/smtp-client/tls/tls_negotiation.h"
#include "libsmtp/session/client_session.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smtp_client {

class HostSession {
public:
    // `context`, `clock` and `observer` (null: none) must outlive it. `source`: the pool address that the connection
    // comes from, null without a pool.
    HostSession(ClientContext& context, SetupClock& clock, SessionObserver* observer, Candidate host,
                std::unique_ptr<TlsStream> stream, const config::SourceAddress* source, TlsNegotiation tls,
                common::LogContext log);
    HostSession(const HostSession&) = delete;
    HostSession& operator=(const HostSession&) = delete;

    // Asks for the host's TLSA records; `done` is called once, in this call or later, and may destroy this.
    void look_up_records(std::function<void()> done);
    const Candidate& host() const { return host_; }
    const common::LogContext& log() const { return log_; }
    TlsNegotiation& tls() { return tls_; }
    const TlsNegotiation& tls() const { return tls_; }

    // Begins the conversation. `authenticator`: null without an account; must outlive it.
    void greet(Authenticator* authenticator);
    bool greeted() const { return session_.has_value(); }
    // Only once it has begun.
    smtp::ClientSession& session() { return *session_; }
    const smtp::ClientSession& session() const { return *session_; }

    // The server greets while its records are still being looked up. 0: the conversation can still begin; else errno.
    int read_early();
    enum class Read : std::uint8_t {
        nothing,
        once,
        more
    }; // more: there may be more, which the socket does not announce
    Read read();
    // False: the kernel takes no more now, or the connection is broken (which the session knows then).
    bool flush();
    void note_final_dot() { final_dot_unsent_ = true; } // it is in the session's output

    // The session's events.
    void start_tls();
    void start_auth(smtp::SaslMechanism mechanism);
    void continue_auth(); // the authenticator may have an answer
    void ready();         // … and with it the session
    bool is_up() const { return up_; }

    // Writes QUIT, if it can go at once, and keeps what a later connection can resume.
    void wind_up();

    // The result of TLS, for the reports that the mail's domain may ask for; `policy`: that of the delivery that goes
    // first.
    void report_tls_result(decide::TlsResult result, const std::string& reason,
                           const proto::route::StsPolicy& policy) const;
    void report_tls_of_session(const proto::route::StsPolicy& policy) const;

private:
    void continue_handshake();
    void judge_certificate();
    std::string resumption_name() const;

    ClientContext& context_;
    SetupClock& clock_;
    SessionObserver* observer_;
    const Candidate host_;
    const config::SourceAddress* const source_;
    const common::LogContext log_;
    TlsNegotiation tls_;
    std::optional<DaneLookup> dane_lookup_;
    std::unique_ptr<TlsStream> stream_;
    std::optional<smtp::ClientSession> session_;
    Authenticator* authenticator_ = nullptr;
    std::string early_bytes_; // what the server sent before the session began
    std::vector<std::string_view> views_;
    bool handshaking_ = false, up_ = false, final_dot_unsent_ = false;
};

} // namespace smtp_client
