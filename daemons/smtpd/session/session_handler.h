// Answers the questions of one client's session by the rules, policy, categorizer and spool: greeting, envelope,
// VRFY, ETRN. MessageIntake takes the message, AuthExchange does AUTH, SessionLog writes the log. Knows the session;
// must not know its socket.
#pragma once
#include "daemons/common/crypto/tls/session.h"
#include "daemons/common/proto/submission.h"
#include "daemons/common/submission/recipient_checker.h"
#include "daemons/smtpd/auth/auth_exchange.h"
#include "daemons/smtpd/intake/message_intake.h"
#include "daemons/smtpd/policy/policy_chain.h"
#include "daemons/smtpd/policy/relay_policy.h"
#include "daemons/smtpd/policy/rules.h"
#include "daemons/smtpd/session/access_control.h"
#include "daemons/smtpd/session/certificate_check.h"
#include "daemons/smtpd/session/client_tests.h"
#include "daemons/smtpd/session/domain_lookup.h"
#include "daemons/smtpd/session/name_lookup.h"
#include "daemons/smtpd/session/session_log.h"
#include "daemons/smtpd/session/worker_context.h"
#include "libsmtp/session/server_session.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace smtpd {

class SessionHandler {
public:
    // Requests to the connection.
    class Driver {
    public:
        virtual void resume() = 0;    // a question was answered later: the session can continue
        virtual void start_tls() = 0; // after sending the replies so far in plain text

    protected:
        ~Driver() = default;
    };

    // All outlive it.
    SessionHandler(WorkerContext& worker, const Rules& rules, smtp::ServerSession& session, Client client,
                   Driver& driver);
    ~SessionHandler();
    SessionHandler(const SessionHandler&) = delete;

    void handle(smtp::ServerEvent& event);
    // The result of start_tls(). `tls` outlives the handler's use of it.
    void tls_established(const tls::Session& tls);
    void tls_failed(std::string_view why);
    void tls_unavailable();

    // The client is being tested or its name is being looked up: it has not been greeted yet.
    bool preparing() const { return (name_lookup_ && name_lookup_->pending()) || (tests_ && tests_->waiting()); }
    // The client has sent something, or is gone; the connection's turn ends after it.
    void input_received();
    void client_gone();
    // Ends the tests and the lookup and greets the client; does nothing unless preparing().
    void greet_unprepared();
    // The client is evicted before it was greeted: drops lookup and policy questions.
    void drop_greeting();

    const SessionLog& log() const { return log_; }
    const Client& client() const { return client_; } // as described by a proxy, if there is one
    // The network its session is counted for; "" if for none.
    const std::string& counted_network() const { return counted_network_; }
    const MessageIntake* message() const { return message_.get(); } // null outside of a transaction

private:
    // The session's events.
    void on(smtp::event::Connect&);
    void on(smtp::event::Helo&);
    void on(smtp::event::Mail&);
    void on(smtp::event::Rcpt&);
    void on(smtp::event::Data&);
    void on(smtp::event::Chunk&);
    void on(smtp::event::EndOfData&);
    void on(smtp::event::Vrfy&);
    void on(smtp::event::Etrn&);
    void on(smtp::event::StartTls&);
    void on(smtp::event::Auth&);
    void on(smtp::event::AuthLine&);
    void on(smtp::event::Xclient&);
    void on(smtp::event::Xforward&);
    void on(smtp::event::Unknown&);
    void on(smtp::event::Refused&);
    void on(smtp::event::Violation&);
    void on(smtp::event::Reset&);
    void on(smtp::event::Quit&) {}
    void on(smtp::event::Disconnect&);

    void answer(const smtp::Reply& reply);
    // With its "reject:" line in the log.
    void reject(smtp::Verb command, const smtp::Reply& reply, std::string_view to = {}, const Rejector& rejector = {});
    void answer_or_reject(smtp::Verb command, const smtp::Reply& reply);

    void greet_if_prepared();
    void greet();
    void judge_certificate(std::function<void()> then);
    void greeted();
    // True: the recipient is rejected, because the client has failed a test.
    bool rejected_by_tests(const smtp::event::Rcpt& rcpt);
    void set_greeting(std::string_view helo, std::string_view protocol);
    void send_banner();
    void authenticated(const AuthExchange::Answer& answer);
    // Calls `then` unless access rules or a policy reject; then the client has been answered.
    template <class Then> void with_policy_checks(Stage stage, Then then) {
        if (!access_) return with_policy_chain(stage, std::move(then));
        apply_access_rules(stage, {}, [this, stage, then = std::move(then)] { with_policy_chain(stage, then); });
    }
    template <class Then> void with_policy_chain(Stage stage, Then then) {
        if (!policy_chain_) return then();
        run_policy_chain(stage, std::move(then));
    }
    // `relaying`: relay control's rejection of the recipient, if any.
    void apply_access_rules(Stage stage, std::optional<smtp::Reply> relaying, std::function<void()> then);
    void run_policy_chain(Stage stage, std::function<void()> then);
    void describe_session(Stage stage, PolicyContext& context) const;
    void apply_verdict(Stage stage, const PolicyVerdict& verdict, const std::function<void()>& then);
    // Calls `then` with the categorizer's answer about an address: at once, or later.
    void check_recipient(common::RecipientChecker::Subject subject,
                         std::function<void(const common::RecipientChecker::Answer&)> then);
    void evaluate_recipient(RelayDecision decision);
    void take_recipient(std::string address);
    void add_recipient(const std::string& address);
    Reception reception() const;
    void check_message();
    void commit_message();
    void end_transaction();

    WorkerContext& worker_;
    const Rules& rules_;
    smtp::ServerSession& session_;
    Driver& driver_;
    Client client_;
    const Client peer_; // whose connection it is
    std::string counted_network_;
    ClientLimits::Admission admission_ = ClientLimits::Admission::admitted; // of the client a proxy has named
    bool named_by_proxy_ = false;                                           // its name is not looked up
    std::unique_ptr<smtp::ClientAttributes> xforward_; // where the next message came from before; null: here
    const std::uint64_t number_;                       // in the log
    SessionLog log_;
    DomainLookup domains_;
    std::unique_ptr<MessageIntake> message_;    // most sessions that wait have none
    std::unique_ptr<AccessControl> access_;     // null: no access rules apply
    std::unique_ptr<PolicyChain> policy_chain_; // null: no policy applies
    const tls::Session* tls_ = nullptr;         // null: plain text
    tls::ConnectionInfo tls_facts_;
    std::unique_ptr<CertificateCheck> certificate_check_; // while the permission is not known
    std::unique_ptr<AuthExchange> auth_;                  // from the first AUTH on
    smtp::event::Rcpt rcpt_;                              // the recipient asked about
    std::uint64_t recipient_check_ = 0;                   // the question to the categorizer; 0: none
    std::uint64_t flush_request_ = 0;                     // the request to the queue-manager; 0: none
    std::unique_ptr<NameLookup> name_lookup_;
    std::unique_ptr<ClientTests> tests_; // null: the client is not tested
};

} // namespace smtpd
