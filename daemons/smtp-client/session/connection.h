// One connection as the queue-manager asked for it: where to a Dial finds out; holds the conversation,
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

class Connection : Dial::Owner {
public:
    // To whom it reports. None of these may destroy the connection at once.
    class Owner {
    public:
        // May it connect to this address? The answer is permit(), at once or later.
        virtual void may_connect(Connection& connection, const std::string& address, bool besides) = 0;
        virtual void left(Connection& connection, const std::string& address) = 0;
        virtual void connected(Connection& connection) = 0;
        // An address of its pool is not to be used for a while; mail was taken from one that rested.
        virtual void source_refused(Connection&, proto::delivery::SourceRefused) {}
        virtual void source_taken(Connection&, proto::delivery::SourceTaken) {}
        // The message's lock goes with the reader.
        virtual void done(Connection& connection, proto::delivery::Done done,
                          std::optional<spool::MessageReader> message) = 0;
        // The last word. What was handed over and not done has not been tried.
        virtual void closed(Connection& connection, proto::delivery::Closed closed) = 0;

    protected:
        ~Owner() = default;
    };

    // `office`, `owner` and `watcher` (null: nobody looks on) must outlive it. Starts at once, reports from
    // later turns of the loop on.
    Connection(Office& office, Owner& owner, proto::delivery::Connect order, Watcher* watcher = nullptr);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    enum class Permit : std::uint8_t { yes, crowded };
    void permit(Permit permit) { dial_.permit(permit == Permit::yes); }
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
    // A transaction without a message, which the watcher hears of instead of the owner.
    void probe(smtp::Transaction transaction, bool secure, const proto::route::StsPolicy& sts);
    // QUIT after all that was handed over.
    enum class Unbegun : std::uint8_t { deliver, drop };
    void close(Unbegun unbegun = Unbegun::deliver);

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

    struct Failed { // of an address
        smtp::Verdict why;
        std::string host; // whose session it was: "mx[192.0.2.1]:25"; "" where there was none
        std::string tls;  // of that session; "none"
        std::string source; // … and where it came from
    };

    // TLS: secure.cpp.
    decide::TlsLevel level_of(std::string_view domain) const;
    Needs needs_of(Job& job);
    Needs needs_here(Job& job);
    Needs needs_of(const spool::MessageReader& message, const std::vector<std::uint32_t>& numbers);
    bool dane_applies(const Job& job) const;
    decide::StsWord sts_word(const Job& job) const;
    std::string outside(const proto::route::StsPolicy& policy) const;
    bool loops_back(const Candidate& candidate);
    void find_demand();
    void demand_found();
    bool suffices(Job& job);
    std::string unmet(Job& job);
    void leave_for_another(const Job& job, std::string text);
    bool is_links_own() const;
    decide::TlsLevel level_of_link() const;
    // What came of it, for reports: tell.cpp.
    void tell_tls(decide::TlsResult result, const std::string& reason) const;
    void tell_up() const;
    bool findings_speak() const; // TLSA records say something
    smtp::ClientSession::StartTls tls_wanted();
    tls::ServerIdentity identity() const;
    void start_tls();
    void shake_hands();
    void judge_certificate();
    std::string resumption_name() const;
    std::string unproven(const tls::Judgement& judgement) const;
    void keep_resumption();
    bool again_in_plain_text(const smtp::Verdict& why);

    // AUTH: authenticate.cpp.
    smtp::ClientSession::Auth auth_wanted();
    void start_auth(smtp::SaslMechanism mechanism);
    void settle_auth();
    void authenticated();
    bool again_with_new_token(const smtp::Verdict& why);
    // Where it comes from: leaving.cpp.
    bool again_from_another(const smtp::Verdict& why);
    bool again_from_another(smtp::TransactionResult& result);
    std::string next_source();
    std::string put_off_at(Job& job);
    void from_another(Job& job);
    void tell_of_taken(const smtp::TransactionResult& result);
    void pool_missing();
    void tell_of_sources();
    void tell_of_unusable();

    void try_next();
    void same_address_again();
    // The dial's word.
    void ask(const std::string& address, Dial::Owner::Asks asks) override;
    void left(const std::string& address) override;
    void looked_up(const std::string& host, dns::Type type, const dns::Answer& answer) override;
    void unreachable(const Candidate& candidate, int error) override;
    void no_address(const std::string& status, const std::string& text) override;
    void reached(const Candidate& candidate, std::unique_ptr<Wire> wire) override;
    void out_of_addresses(Dial::Owner::End end) override;
    void readable() override;
    void writable() override { pump(); }
    void refused_by_policy(const std::string& text);
    void greet();
    void read_early();

    void leave_session();
    void pump();
    void take(smtp::ClientEvent& event);
    bool flush();
    void say_the_rest();
    void rearm();
    void expired();

    void fill();
    enum class HandedOver : std::uint8_t { yes, refused, not_now, not_yet, elsewhere };
    HandedOver hand_over(Job& job);
    spool::ReadResult<Content::Prepared> prepare(Job& job);
    void refuse(Job& job, const spool::ReadError& error);
    void end_for(spool::QueueId id);
    void give_content(const smtp::client_event::ContentWanted& wanted);
    void finished(smtp::TransactionResult& result);
    void report(const smtp::TransactionResult& result);
    void write_line(const Job& job, std::size_t which, const smtp::Verdict& verdict, const std::string& relay,
                    smtp::Duration transmission, smtp::WallTime now) const;

    void ended(smtp::client_event::Ended& end);
    void link_failed();
    enum class Tell : std::uint8_t { log, log_and_owner };
    void first_failed(const Failed& failed, Tell tell);
    void requirement_failed();
    bool leads_nowhere() const;
    enum class End : std::uint8_t { orderly, crowded, failed };
    void finish(End end, const smtp::Verdict& why = {});
    smtp::Circumstances circumstances(const smtp::Verdict& why) const; // at the current host

    Job* job_of(std::uint64_t delivery);
    std::string tls_named() const { return tls_text_.empty() ? "none" : tls_text_; } // of this session
    std::string relay() const { return current_ ? current_->relay() : std::string(); }
    // The one being spoken, or, before a host is found, that of the first to be tried.
    bool lmtp() const;
    common::Voice voice() const { return office_.log.as(lmtp() ? "lmtp" : "smtp", session_number_); }

    Office& office_;
    Owner& owner_;
    Watcher* watcher_;
    proto::delivery::Connect order_;
    Sources sources_;
    Dial dial_;
    common::Deadline deadline_;
    common::TurnHook hook_; // starts, or pumps, at the end of the turn
    std::unique_ptr<Wire> wire_;
    std::optional<smtp::ClientSession> session_;
    std::optional<Candidate> current_;
    // Of the delivery that the session is made for:
    Needs needs_;
    decide::TlsDemand demand_ = decide::TlsDemand::welcome;
    smtp::Circumstances::Demand demanded_by_ = smtp::Circumstances::Demand::level;
    std::optional<DaneLookup> dane_lookup_;
    std::string early_; // what the server has said before that was over
    std::optional<decide::DaneFindings> findings_; // of the current host, if it was asked about
    decide::TlsState tls_;
    decide::TlsResult tls_result_ = decide::TlsResult::starttls_not_supported; // until it is known better
    decide::TlsResult certificate_ = decide::TlsResult::success;               // what it would be worth
    std::string certificate_problem_;
    std::string tls_text_;        // "TLSv1.3 …"; "" in plain text
    bool shaking_hands_ = false, plain_text_ = false; // plain_text_: TLS has failed with this address
    std::unique_ptr<Introduction> introduction_;      // where we have an account
    std::deque<std::unique_ptr<Job>> jobs_;
    std::size_t handed_ = 0; // of them, the first, to the session
    std::vector<std::string_view> views_;

    std::optional<smtp::Verdict> nowhere_; // why the last host without addresses had none
    bool somewhere_ = false; // a host has an address, or may have one
    bool looped_ = false;    // a host is this system itself
    smtp::Monotonic began_{}; // to look for an address
    smtp::Duration setup_{};  // from there to being up
    std::uint64_t session_number_ = 0;
    std::uint64_t uses_ = 0; // deliveries over this session
    Failed last_failure_;
    std::optional<Failed> mail_failure_;   // of a session that had accepted MAIL
    std::optional<Failed> policy_failure_; // of one without the TLS that is required
    std::optional<Failed> unmet_;    // the last host that does not do what a message requires (RFC 8689) …
    std::uint64_t unmet_for_ = 0;    // … and its delivery
    bool others_failed_ = false;     // another host was not reached, or did not get so far
    bool up_ = false;        // this session; was_up_: any
    bool preparing_ = false; // the next message's content, in further turns of the loop
    bool started_ = false, was_up_ = false, closing_ = false, over_ = false, dot_under_way_ = false;
};

} // namespace smtp_client
