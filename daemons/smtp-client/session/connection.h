// One connection as the queue-manager asked for it: where to, a Connector finds out; holds the conversation,
// takes deliveries one after the other (the next one's commands behind the message before), reports each,
// says how it ended. Knows nothing of the queue-manager's channel, of other connections, or of why it exists.
#pragma once
#include "daemons/common/delivery/delivery_line.h"
#include "daemons/decide/outcome/failure.h"
#include "daemons/decide/tls/tls_policy.h"
#include "daemons/smtp-client/message/content.h"
#include "daemons/smtp-client/tls/dane_lookup.h"
#include "daemons/smtp-client/connect/connector.h"
#include "daemons/smtp-client/auth/authenticator.h"
#include "daemons/smtp-client/message/results.h"
#include "daemons/smtp-client/session/session_observer.h"
#include "libsmtp/session/client_session.h"
#include "libspool/message/message_reader.h"
#include <deque>
#include <memory>
#include <optional>

namespace smtp_client {

class Connection : Connector::Owner {
public:
    // To whom it reports. None of these may destroy the connection at once.
    class Owner {
    public:
        // May it connect to this address? The answer is permit(), at once or later.
        virtual void may_connect(Connection& connection, const std::string& address, bool in_parallel) = 0;
        virtual void released(Connection& connection, const std::string& address) = 0;
        virtual void connected(Connection& connection) = 0;
        // An address of its pool is not to be used for a while; mail was taken from one that rested.
        virtual void source_refused(Connection&, proto::delivery::SourceRefused) {}
        virtual void source_taken(Connection&, proto::delivery::SourceAccepted) {}
        // The message's lock goes with the reader.
        virtual void done(Connection& connection, proto::delivery::Done done,
                          std::optional<spool::MessageReader> message) = 0;
        // The last word. What was handed over and not done has not been tried.
        virtual void closed(Connection& connection, proto::delivery::Closed closed) = 0;

    protected:
        ~Owner() = default;
    };

    // `context`, `owner` and `observer` (null: nobody looks on) must outlive it. Starts at once, reports from
    // later turns of the loop on.
    Connection(ClientContext& context, Owner& owner, proto::delivery::Connect order, SessionObserver* observer = nullptr);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    enum class Permit : std::uint8_t { yes, at_limit };
    void permit(Permit permit) { connector_.permit(permit == Permit::yes); }
    void deliver(proto::delivery::Deliver order);
    // What is not begun, in its order: it is not delivered here.
    std::vector<std::uint64_t> recall();
    // This one is not to be delivered. What has begun ends with its conversation.
    enum class CutOff : std::uint8_t {
        yes,
        too_late, // all of it has been sent
        unknown,  // what became of it has been told
    };
    CutOff cut(std::uint64_t delivery);
    // A transaction without a message, which the observer hears of instead of the owner.
    void probe(smtp::Transaction transaction, bool secure, const proto::route::StsPolicy& sts);
    // QUIT after all that was handed over.
    enum class NotStarted : std::uint8_t { deliver, drop };
    void close(NotStarted not_started = NotStarted::deliver);

    std::uint64_t number() const { return order_.connection; }
    const std::string& link() const { return order_.link; }
    std::string source() const { return sources_.current_text(); } // of its pool; "" none

private:
    struct Needs { // as far as TLS is concerned
        decide::TlsLevel level = decide::TlsLevel::may;
        std::string domain; // of its recipients
        bool of_report = false; // the mail is a report of ours on TLS
        bool by_message = false; // the level is higher than its route's: the message itself says so
    };
    struct Job {
        proto::delivery::Deliver order;
        std::optional<smtp::Transaction> probe = {};      // then there is no message
        std::optional<Needs> needs = {};
        std::optional<spool::MessageReader> message = {}; // open while it is with the session
        std::unique_ptr<Content> content = {};            // of the message, for this session's server
        bool damaged = false;
        bool cut = false; // it ends when the server asks for its content: another's reply is awaited before
    };

    struct AttemptFailure { // of an address
        smtp::Verdict why;
        std::string host; // whose session it was: "mx[192.0.2.1]:25"; "" where there was none
        std::string tls;  // of that session; "none"
        std::string source; // … and where it came from
    };

    // TLS: connection_tls.cpp.
    decide::TlsLevel level_of(std::string_view domain) const;
    Needs needs_of(Job& job);
    Needs needs_at_current_host(Job& job);
    Needs needs_of(const spool::MessageReader& message, const std::vector<std::uint32_t>& numbers);
    bool dane_applies(const Job& job) const;
    decide::StsMatch sts_word(const Job& job) const;
    std::string not_in_policy_text(const proto::route::StsPolicy& policy) const;
    bool loops_back(const Candidate& candidate);
    void determine_tls_demand();
    void tls_demand_known();
    bool meets_needs(Job& job);
    std::string missing_requirement(Job& job);
    void try_another_host(const Job& job, std::string text);
    bool is_failure_of_link() const;
    decide::TlsLevel level_of_link() const;
    // What came of it, for reports: tls_report_events.cpp.
    void report_tls_result(decide::TlsResult result, const std::string& reason) const;
    void report_session_up() const;
    bool has_tlsa_records() const; // TLSA records say something
    smtp::ClientSession::StartTls starttls_mode();
    tls::ServerIdentity identity() const;
    void start_tls();
    void continue_handshake();
    void judge_certificate();
    std::string resumption_name() const;
    std::string certificate_mismatch_text(const tls::CertificateVerdict& judgement) const;
    void store_resumption();
    bool retry_in_plain_text(const smtp::Verdict& why);

    // AUTH: authenticate.cpp.
    smtp::ClientSession::Auth auth_options();
    void start_auth(smtp::SaslMechanism mechanism);
    void continue_auth();
    void authenticated();
    bool retry_with_new_token(const smtp::Verdict& why);
    // Where it comes from: source_failover.cpp.
    bool retry_from_another_source(const smtp::Verdict& why);
    bool retry_from_another_source(smtp::TransactionResult& result);
    std::string next_source();
    std::string last_deferral_source(Job& job);
    void switch_source(Job& job);
    void report_source_accepted(const smtp::TransactionResult& result);
    void pool_missing();
    void report_sources();
    void report_unusable_sources();

    void try_next();
    void retry_same_address();
    // The connector's word.
    void request_permission(const std::string& address, Connector::Owner::ConnectMode mode) override;
    void released(const std::string& address) override;
    void looked_up(const std::string& host, dns::Type type, const dns::Answer& answer) override;
    void unreachable(const Candidate& candidate, int error) override;
    void no_address(const std::string& status, const std::string& text) override;
    void reached(const Candidate& candidate, std::unique_ptr<TlsStream> stream) override;
    void out_of_addresses(Connector::Owner::End end) override;
    void readable() override;
    void writable() override { pump(); }
    void refused_by_policy(const std::string& text);
    void greet();
    void read_early();

    void drop_session();
    void pump();
    void on_event(smtp::ClientEvent& event);
    bool flush();
    void flush_last_output();
    void rearm();
    void expired();

    void feed_session();
    enum class HandedOver : std::uint8_t { yes, refused, not_now, not_yet, elsewhere };
    HandedOver hand_over(Job& job);
    spool::ReadResult<Content::Prepared> prepare(Job& job);
    void refuse(Job& job, const spool::ReadError& error);
    void break_off_delivery(spool::QueueId id);
    void send_content(const smtp::client_event::ContentRequested& wanted);
    void finished(smtp::TransactionResult& result);
    void report(const smtp::TransactionResult& result);
    void write_line(const Job& job, std::size_t which, const smtp::Verdict& verdict, const std::string& relay,
                    smtp::Duration transmission, smtp::WallTime now) const;

    void ended(smtp::client_event::Ended& end);
    void link_failed();
    enum class ReportTo : std::uint8_t { log, log_and_owner };
    void fail_first_delivery(const AttemptFailure& failed, ReportTo report_to);
    void requirement_failed();
    bool no_host_has_address() const;
    enum class End : std::uint8_t { orderly, at_limit, failed };
    void finish(End end, const smtp::Verdict& why = {});
    smtp::FailureDetails failure_details(const smtp::Verdict& why) const; // at the current host

    Job* job_of(std::uint64_t delivery);
    std::string tls_description() const { return tls_text_.empty() ? "none" : tls_text_; } // of this session
    std::string relay() const { return current_ ? current_->relay() : std::string(); }
    // The one being spoken, or, before a host is found, that of the first to be tried.
    bool lmtp() const;
    common::LogContext log_context() const { return context_.log.context(lmtp() ? "lmtp" : "smtp", session_number_); }

    ClientContext& context_;
    Owner& owner_;
    SessionObserver* observer_;
    proto::delivery::Connect order_;
    SourceAddresses sources_;
    Connector connector_;
    common::Deadline deadline_;
    common::TurnHook hook_; // starts, or pumps, at the end of the turn
    std::unique_ptr<TlsStream> stream_;
    std::optional<smtp::ClientSession> session_;
    std::optional<Candidate> current_;
    // Of the delivery that the session is made for:
    Needs needs_;
    decide::TlsDemand demand_ = decide::TlsDemand::welcome;
    smtp::FailureDetails::Demand demanded_by_ = smtp::FailureDetails::Demand::level;
    std::optional<DaneLookup> dane_lookup_;
    std::string early_bytes_; // what the server has said before that was over
    std::optional<decide::DaneResult> findings_; // of the current host, if it was asked about
    decide::TlsState tls_;
    decide::TlsResult tls_result_ = decide::TlsResult::starttls_not_supported; // until it is known better
    decide::TlsResult certificate_ = decide::TlsResult::success;               // what it would be worth
    std::string certificate_problem_;
    std::string tls_text_;        // "TLSv1.3 …"; "" in plain text
    bool handshaking_ = false, plain_text_ = false; // plain_text_: TLS has failed with this address
    std::unique_ptr<Authenticator> authenticator_;      // where we have an account
    std::deque<std::unique_ptr<Job>> jobs_;
    std::size_t in_session_ = 0; // of them, the first, to the session
    std::vector<std::string_view> views_;

    std::optional<smtp::Verdict> no_address_verdict_; // why the last host without addresses had none
    bool address_may_exist_ = false; // a host has an address, or may have one
    bool loop_found_ = false;    // a host is this system itself
    smtp::Monotonic began_{}; // to look for an address
    smtp::Duration setup_{};  // from there to being up
    std::uint64_t session_number_ = 0;
    std::uint64_t deliveries_done_ = 0; // deliveries over this session
    AttemptFailure last_failure_;
    std::optional<AttemptFailure> mail_failure_;   // of a session that had accepted MAIL
    std::optional<AttemptFailure> policy_failure_; // of one without the TLS that is required
    std::optional<AttemptFailure>
        requirement_failure_;                   // the last host that does not do what a message requires (RFC 8689) …
    std::uint64_t requirement_delivery_ = 0;    // … and its delivery
    bool other_hosts_failed_ = false;     // another host was not reached, or did not get so far
    bool up_ = false;        // this session; was_up_: any
    bool preparing_ = false; // the next message's content, in further turns of the loop
    bool started_ = false, was_up_ = false, closing_ = false, over_ = false, final_dot_unsent_ = false;
};

} // namespace smtp_client
