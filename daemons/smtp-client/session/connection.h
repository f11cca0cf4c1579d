// One connection as the queue-manager requested it: a HostSearch finds a host and opens the conversation, a
// DeliveryQueue holds the deliveries, which go one after the other (the next one's commands follow the previous
// message immediately). This class handles the order of these things: which delivery goes when, what is reported,
// when a host is left for another one, and how the connection ends. Knows nothing about the queue-manager's channel,
// other connections, or why it exists.
#pragma once
#include "daemons/smtp-client/session/attempt_failures.h"
#include "daemons/smtp-client/session/delivery_queue.h"
#include "daemons/smtp-client/session/delivery_report.h"
#include "daemons/smtp-client/session/dialogue.h"
#include "daemons/smtp-client/session/host_search.h"
#include "daemons/smtp-client/session/session_observer.h"
#include "libsmtp/session/client_session.h"
#include "libspool/message/message_reader.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smtp_client {

class Connection : HostSearch::Owner {
public:
    // Receives the reports. None of these may destroy the connection at once.
    class Owner {
    public:
        // May it connect to this address? The answer is permit(), at once or later.
        virtual void may_connect(Connection& connection, const std::string& address, bool in_parallel) = 0;
        virtual void released(Connection& connection, const std::string& address) = 0;
        virtual void connected(Connection& connection) = 0;
        // An address of its pool must not be used for a while; mail was accepted from one that was backing off.
        virtual void source_refused(Connection&, proto::delivery::SourceRefused) {}
        virtual void source_taken(Connection&, proto::delivery::SourceAccepted) {}
        // The message's lock goes with the reader.
        virtual void done(Connection& connection, proto::delivery::Done done,
                          std::optional<spool::MessageReader> message) = 0;
        // Always the last call. What was handed over and not done has not been tried.
        virtual void closed(Connection& connection, proto::delivery::Closed closed) = 0;

    protected:
        ~Owner() = default;
    };

    // `context`, `owner` and `observer` (null: none) must outlive it. Starts at once; reports arrive in later turns
    // of the loop.
    Connection(ClientContext& context, Connection::Owner& owner, proto::delivery::Connect order,
               SessionObserver* observer = nullptr);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    enum class Permit : std::uint8_t { yes, at_limit };
    void permit(Permit permit) { search_.permit(permit == Permit::yes); }
    void deliver(proto::delivery::Deliver order);
    // What is not begun, in its order: it is not delivered here.
    std::vector<std::uint64_t> recall();
    // This one is not to be delivered. What has begun ends with its conversation.
    enum class CutOff : std::uint8_t {
        yes,
        too_late, // all of it has been sent
        unknown,  // its result has been reported
    };
    CutOff cut(std::uint64_t delivery);
    // A transaction without a message; its result goes to the observer instead of the owner.
    void probe(smtp::Transaction transaction, bool secure, const proto::route::StsPolicy& sts);
    // QUIT after all that was handed over.
    enum class NotStarted : std::uint8_t { deliver, drop };
    void close(NotStarted not_started = NotStarted::deliver);

    std::uint64_t number() const { return order_.connection; }
    const std::string& link() const { return order_.link; }
    std::string source() const { return sources_.current_text(); } // of its pool; "" none

private:
    // Callbacks from the host search.
    void may_connect(const std::string& address, ConnectMode mode) override;
    void released(const std::string& address) override { owner_.released(*this, address); }
    DeliveryJob* first_delivery() override { return deliveries_.empty() ? nullptr : &deliveries_.front(); }
    void session_left(HostSearch::Owner::For next) override;
    void session_begun() override;
    void wake() override { hook_.schedule(); }
    void readable() override;
    void writable() override { pump(); }
    void no_host_left(HostSearch::Owner::End end) override;

    // The conversation.
    void pump();
    void on_event(smtp::ClientEvent& event);
    void ready();
    void rearm();
    void expired();
    void feed_session();
    enum class Feed : std::uint8_t { goes_on, pauses };
    Feed feed_next(DeliveryJob& job);
    Feed send_back_untried();
    Feed defer(DeliveryJob& job, std::string text);
    Feed refuse(DeliveryJob& job, const spool::ReadError& error);
    void content_requested(const smtp::client_event::ContentRequested& wanted);
    void break_off_delivery(spool::QueueId id);
    void finished(smtp::TransactionResult& result);
    void report_result(const smtp::TransactionResult& replied);
    void report_unusable_sources();
    SessionFacts facts();

    // The host is left for another one, or tried again.
    enum class Deliveries : bool { go_on, begin_again }; // begin_again: in the log's numbers, too
    void leave_host(Deliveries deliveries = Deliveries::go_on);
    void try_another_host(const DeliveryJob& job, std::string text);
    bool retry_from_another_source(const smtp::Verdict& why);
    bool retry_from_another_source(smtp::TransactionResult& result);
    bool retry_in_plain_text(const smtp::Verdict& why);
    bool retry_with_new_token(const smtp::Verdict& why);
    void switch_source(const DeliveryJob& job);

    // Ends.
    void ended(smtp::client_event::Ended& end);
    enum class Served : std::uint8_t {
        nobody,
        recipients,
        deliveries
    }; // by the host: some of a delivery's, or whole ones
    bool retry_same_host(const smtp::client_event::Ended& end, Served served);
    bool go_to_next_host(const smtp::client_event::Ended& end, Served served);
    void report_interrupted(const smtp::TransactionResult& result);
    void link_failed();
    enum class ReportTo : std::uint8_t { log, log_and_owner };
    void fail_first_delivery(const AttemptFailure& failed, ReportTo report_to);
    enum class End : std::uint8_t { orderly, at_limit, failed };
    void finish(End end, const smtp::Verdict& why = {});

    smtp::ClientSession* session();
    bool is_up() const { return search_.host() && search_.host()->is_up(); }
    const proto::route::StsPolicy* first_policy() const; // of the delivery that goes first; null: there is none
    std::string relay() const { return search_.relay(); }
    common::LogContext log() const { return search_.log(); }

    ClientContext& context_;
    Connection::Owner& owner_;
    SessionObserver* observer_;
    proto::delivery::Connect order_;
    SourceAddresses sources_;
    AttemptFailures failures_;
    HostSearch search_;
    common::Deadline deadline_;
    common::TurnHook hook_; // starts, or pumps, at the end of the turn
    DeliveryQueue deliveries_;
    std::optional<Dialogue> dialogue_;  // where that of failed attempts is recorded
    std::uint64_t deliveries_done_ = 0; // over the current host's session
    smtp::Monotonic began_{};           // to look for an address
    smtp::Duration setup_{};            // from there to being up
    bool preparing_ = false;            // the next message's content, in further turns of the loop
    bool started_ = false, was_up_ = false, closing_ = false, over_ = false; // was_up_: any session
};

} // namespace smtp_client
