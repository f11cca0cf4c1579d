// One client: moves bytes between its socket and its ServerSession, answers the session's questions out of
// policy, categorizer and spool, and writes the log lines. Callbacks record what happened and call pump()
// last.
#pragma once
#include "daemons/common/submission/submission_queue.h"
#include "daemons/common/crypto/tls/session.h"
#include "daemons/smtpd/auth/authentication.h"
#include "daemons/smtpd/session/session_metrics.h"
#include "daemons/smtpd/policy/relay_policy.h"
#include "daemons/smtpd/access/session_eviction.h"
#include "daemons/smtpd/policy/rules.h"
#include "daemons/smtpd/policy/policy_chain.h"
#include "daemons/smtpd/session/worker_context.h"
#include "daemons/smtpd/session/transaction.h"
#include "libsmtp/session/server_session.h"
#include <list>
#include <memory>
#include <optional>

namespace smtpd {

class Connection {
public:
    // `worker` must outlive it. Null if the socket cannot be used.
    static std::unique_ptr<Connection> create(WorkerContext& worker, std::shared_ptr<const Rules> rules,
                                              common::Fd socket, Client client);
    ~Connection();
    Connection(const Connection&) = delete;

    // Once, when it has its place among the others.
    void begin();
    // 421, after the transaction or now. A message that is being made durable is always waited for.
    void shut_down(smtp::ServerSession::When when);
    // Sessions run short, or do so no longer.
    void stress_changed();
    // Others need its place: 421, and nobody waits for the client to hear it. Only if it may_give_way.
    void evict();
    SessionInfo session_info() const;
    // What it holds beside content, where its client could have been done with it by now; else 0.
    std::size_t idle_memory(smtp::Monotonic now) const;

    const Client& client() const { return client_; }
    // The network its session is counted for; "" if for none.
    const std::string& counted_network() const { return counted_network_; }
    const Rules& rules() const { return *rules_; }

    std::list<std::unique_ptr<Connection>>::iterator place; // the owner's

    // For std::visit: the session's events.
    void operator()(smtp::event::Connect&);
    void operator()(smtp::event::Helo&);
    void operator()(smtp::event::Mail&);
    void operator()(smtp::event::Rcpt&);
    void operator()(smtp::event::Data&);
    void operator()(smtp::event::Chunk&);
    void operator()(smtp::event::EndOfData&);
    void operator()(smtp::event::Vrfy&);
    void operator()(smtp::event::Etrn&);
    void operator()(smtp::event::StartTls&);
    void operator()(smtp::event::Auth&);
    void operator()(smtp::event::AuthLine&);
    void operator()(smtp::event::Xclient&);
    void operator()(smtp::event::Xforward&);
    void operator()(smtp::event::Unknown&);
    void operator()(smtp::event::Refused&);
    void operator()(smtp::event::Reset&);
    void operator()(smtp::event::Quit&) {}
    void operator()(smtp::event::Disconnect&);

private:
    Connection(WorkerContext& worker, std::shared_ptr<const Rules> rules, Client client);
    static void on_alloc(uv_handle_t* handle, std::size_t, uv_buf_t* buffer);
    static void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buffer);

    void feed_early_bytes();
    void pump();
    bool flush(); // false: the client is gone
    int write_now(std::string_view bytes); // how many were taken, or libuv's error
    int write_last(std::string_view bytes);
    void write_rest();
    void update_reading();
    void update_memory_share();
    void set_deadline();
    void deadline_passed();
    void linger();
    void finish();

    // TLS (secure.cpp)
    bool implicit_tls() const { return rules_->listener.tls == config::ListenerTls::implicit; }
    bool handshaking() const { return tls_ && !session_.tls_active(); }
    void start_tls();
    void on_encrypted_data(std::string_view bytes);
    void continue_handshake();
    void handshake_failed(std::string_view why);
    std::string encrypt(std::string_view plain);

    // What proxies say of clients (xclient.cpp)
    void grant_rights();
    std::string forwarded_text() const;

    // AUTH (authenticate.cpp)
    std::unique_ptr<Authentication> make_authentication();
    Authentication::Done auth_step();
    void on_auth_step(const AuthStep& step);
    std::optional<smtp::Reply> too_many_connections_of(const std::string& user);
    Lockouts::Limits lockout_limits() const;
    void reject_locked_out(std::string_view whom, smtp::Duration left);
    void record_auth_failure(const std::string& user);
    void reject_auth();
    void end_authentication();

    // VRFY, ETRN (vrfy_etrn.cpp)
    void on_verified(const std::string& address, const RecipientChecker::Answer& checked);
    void on_etrn_result(const std::string& node, const proto::submission::DomainFlushed* tried);
    static std::string unable(const std::string& node, std::string_view why);

    smtp::ServerSettings const& settings() const {
        return worker_.stressed ? rules_->stressed : rules_->normal;
    }
    common::LogContext log_context() { return worker_.log.context("smtpd", number_); }
    void answer(const smtp::Reply& reply);
    // With the "reject:" line of the log.
    smtp::Reply with_soft_bounce(smtp::Reply reply) const;
    void reject(smtp::Verb command, const smtp::Reply& reply, std::string_view to = {});
    void log_rejection(smtp::Verb command, const smtp::Reply& reply, std::string_view to); // of our own
    void log_reject(smtp::Verb command, const smtp::Reply& reply, std::string_view to,
                    PolicySource by = PolicySource::policy);
    void log_note(smtp::Verb command, const LogNote& note);
    // Of what concerns a whole message analysers hear from the cleanup service.
    common::LogContext log_context_of(PolicySource by, smtp::Verb command);
    std::string_view log_id() const;
    std::string envelope_text(std::string_view to) const;
    // Goes on with `then` unless somebody who is asked objects; then the client has been answered.
    template <class Then> void with_policy_checks(Stage stage, Then then) {
        if (!policy_chain_) return then();
        run_policy_chain(stage, std::move(then));
    }
    void run_policy_chain(Stage stage, std::function<void()> then);
    void apply_verdict(Stage stage, const PolicyVerdict& verdict, const std::function<void()>& then);
    void greet();
    void begin_content();
    bool completes_header() const;
    smtp::SubmissionOptions::HeaderCompletion transit() const;
    std::size_t max_header_size() const;
    void check_content();
    void commit();
    void send_banner();
    std::string dynamic_capabilities();
    bool room_for_recipient() const;
    void take_recipient(std::string address);
    void add_recipient(std::string address);
    void recipient_checked(const RecipientChecker::Answer& checked);
    // Calls `then` with what the categorizer says of an address: at once, or later.
    template <class Then> void check_recipient(RecipientChecker::Subject subject, Then then) {
        const auto now = common::Loop::now().monotonic;
        if (const auto* known = worker_.checker.cached(subject, now)) return then(*known);
        recipient_check_ =
            worker_.checker.ask(std::move(subject), now, [this, then](const RecipientChecker::Answer& answer) {
                recipient_check_ = 0;
                then(answer);
                pump();
            });
    }
    void fill_envelope(spool::Envelope& envelope, const smtp::event::Mail& mail, std::string reverse_path,
                       smtp::WallTime now);
    std::string received_field();
    enum class Last : std::uint8_t { no, yes };
    void store(std::string_view content, Last last);
    void choose_pool();

    // Idempotency keys (idempotency.cpp)
    common::Submitter submitter() const;
    void update_fingerprint(std::string_view content);
    void read_key();
    void claim_key();
    void confirm_queued();

    void end_transaction();
    void refuse_content(smtp::Reply reply);
    void committed(spool::Result<spool::DurableReceipt> receipt, const std::string& hint);

    WorkerContext& worker_;
    std::shared_ptr<const Rules> rules_;
    Client client_;            // as a proxy says, if one does
    const Client peer_;        // whose connection it is
    std::string counted_network_;  // the network
    ClientLimits::Admission admission_ = ClientLimits::Admission::admitted; // of the client a proxy has named
    bool named_by_proxy_ = false;       // by a proxy: its name is not looked up
    std::unique_ptr<smtp::ClientAttributes> xforward_; // where the next message came from before; null: here
    smtp::Monotonic last_activity_;                             // the last whole command or piece of content
    std::uint64_t number_; // in the log
    smtp::ServerSession session_;
    std::unique_ptr<Transaction> transaction_; // most sessions that wait have none
    smtp::Reply last_rejection_;          // and logged; for what is said again and again
    std::unique_ptr<PolicyChain> policy_chain_;    // null: nobody is asked
    std::unique_ptr<tls::Session> tls_; // null: plain text
    tls::ConnectionInfo tls_facts_;
    std::unique_ptr<Authentication> authentication_; // the exchange under way
    std::string auth_method_;
    common::Deadline auth_delay_;
    smtp::event::Rcpt rcpt_;                  // the recipient asked about
    std::uint64_t recipient_check_ = 0;                 // the question to the categorizer; 0: none
    std::uint64_t flush_request_ = 0;                   // the wish to the queue-manager; 0: none
    std::shared_ptr<dns::Resolver> resolver_; // outlives the look-up
    std::unique_ptr<dns::ClientName> name_lookup_;
    common::Handle<uv_tcp_t> tcp_;
    common::Deadline deadline_;
    std::string in_flight_, unsent_; // what the kernel did not take at once: being written; behind that
    spool::ContentMemory::Share share_; // what is held here beside the content
    enum class Phase : std::uint8_t { talking, final_reply, lingering, over } phase_ = Phase::talking;
    bool reading_ = false, hung_up_ = false, paused_ = false, resolving_name_ = false, linger_after_close_ = false,
         pumping_ = false, evicted_ = false;
    struct Write;
    Write* write_ = nullptr;
};

} // namespace smtpd
