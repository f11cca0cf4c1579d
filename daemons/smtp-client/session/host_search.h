// From the hosts of a link to the session with one of them: a Connector reaches an address; this class finds out what
// the host must show for the delivery that goes first, and starts the conversation or tries the next host. Knows
// about deliveries only what the first one needs; what happens in the conversation is its owner's affair.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/proto/delivery.h"
#include "daemons/smtp-client/auth/authenticator.h"
#include "daemons/smtp-client/connect/connector.h"
#include "daemons/smtp-client/context/client_context.h"
#include "daemons/smtp-client/session/attempt_failures.h"
#include "daemons/smtp-client/session/delivery_job.h"
#include "daemons/smtp-client/session/delivery_report.h"
#include "daemons/smtp-client/session/host_session.h"
#include "daemons/smtp-client/session/session_observer.h"
#include <memory>
#include <optional>
#include <string>

namespace smtp_client {

class HostSearch : Connector::Owner {
public:
    // Receives the reports. None of these may destroy it at once.
    class Owner {
    public:
        using ConnectMode = Connector::Owner::ConnectMode;
        using End = Connector::Owner::End;
        virtual void may_connect(const std::string& address, ConnectMode mode) = 0; // the answer is permit()
        virtual void released(const std::string& address) = 0;
        virtual DeliveryJob* first_delivery() = 0; // null: there is none
        enum class For : std::uint8_t { same_host, next_host };
        virtual void session_left(For next) = 0;
        virtual void session_begun() = 0; // with host()
        virtual void wake() = 0;          // host() can continue
        virtual void readable() = 0;      // … by reading
        virtual void writable() = 0;
        virtual void no_host_left(End end) = 0; // always the last call

    protected:
        ~Owner() = default;
    };

    // All must outlive it; `observer` may be null. Failures on the way are recorded in `failures`.
    HostSearch(ClientContext& context, Owner& owner, const proto::delivery::Connect& order, SourceAddresses& sources,
               AttemptFailures& failures, SessionObserver* observer);
    HostSearch(const HostSearch&) = delete;
    HostSearch& operator=(const HostSearch&) = delete;

    void permit(bool granted) { connector_.permit(granted); }
    void begin(); // with the first host
    void try_next();
    void retry_same();
    void retry_in_plain_text();
    void skip_fallback() { connector_.skip_fallback(); }
    void stop(); // permanently; the session stays where it is

    // The session with the host that was reached; null: there is none. Gone once it is left.
    HostSession* host() { return host_.get(); }
    const HostSession* host() const { return host_.get(); }
    // The host reached last, until the next one is tried.
    const std::optional<Candidate>& current() const { return current_; }
    Authenticator* authenticator() { return authenticator_.get(); } // for it; null without an account
    std::string relay() const { return current_ ? current_->relay() : std::string(); }
    // The protocol being spoken, or, before a host is found, that of the first to be tried.
    bool lmtp() const;
    common::LogContext log() const { return context_.log.context(lmtp() ? "lmtp" : "smtp", session_number_); }

    // What was spent on earlier hosts counts no longer.
    void restart_clock() { clock_.restart(); }
    // For reports of deliveries; `deliveries` over the session so far, `setup`: how long it took until it was up.
    SessionFacts facts(std::uint64_t deliveries, smtp::Duration setup) const;
    // A failure at the current host, with its facts.
    AttemptFailure failure_at_host(smtp::Verdict why) const;
    // Is missing TLS a failure of the link? Yes for a host that the configuration names, if its route demands TLS: the
    // route may have a next host. No for a domain's MX hosts, and no for what a message itself requires.
    bool tls_failure_is_of_link() const { return !order_.mx && !host_->tls().needs().by_message; }

private:
    // Callbacks from the connector.
    void request_permission(const std::string& address, ConnectMode mode) override;
    void released(const std::string& address) override { owner_.released(address); }
    void looked_up(const std::string& host, dns::Type type, const dns::Answer& answer) override;
    void unreachable(const Candidate& candidate, int error) override;
    void no_address(const std::string& status, const std::string& text) override;
    void reached(const Candidate& candidate, std::unique_ptr<TlsStream> stream) override;
    void out_of_addresses(End end) override;
    void readable() override;
    void writable() override { owner_.writable(); }

    void leave(HostSearch::Owner::For next);
    bool loops_back(const std::string& local_address);
    TlsNeeds needs_of_link() const;
    void determine_tls_demand();
    void tls_demand_known();
    void refused_by_policy(const std::string& text);
    void begin_session();
    void read_early();

    ClientContext& context_;
    HostSearch::Owner& owner_;
    const proto::delivery::Connect& order_;
    SourceAddresses& sources_;
    AttemptFailures& failures_;
    SessionObserver* const observer_;
    SetupClock clock_;
    Connector connector_;
    std::optional<Candidate> current_; // and what is known of it:
    TlsNegotiation::Fallback tls_fallback_ = TlsNegotiation::Fallback::none;
    std::unique_ptr<Authenticator> authenticator_;
    std::unique_ptr<HostSession> host_; // which uses the authenticator
    std::uint64_t session_number_ = 0;
    bool stopped_ = false;
};

} // namespace smtp_client
