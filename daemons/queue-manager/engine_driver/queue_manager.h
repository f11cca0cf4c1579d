// The queue-manager: the one process that changes messages after acceptance. It tells the engine
// (daemons/decide/queue) what happens and carries out what the engine says; all judgement is there, all doing
// here. Its loop never waits for a disk.
#pragma once
#include "daemons/common/process/daemon.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/common/proto/categorize.h"
#include "daemons/common/proto/report.h"
#include "daemons/common/proto/route.h"
#include "daemons/common/proto/submission.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/wake.h"
#include "daemons/decide/queue/engine.h"
#include "daemons/decide/outcome/source_backoff.h"
#include "daemons/queue-manager/peers/agents.h"
#include "daemons/queue-manager/conversion/answer_parts.h"
#include "daemons/queue-manager/conversion/categorization.h"
#include "daemons/queue-manager/control/control.h"
#include "daemons/queue-manager/control/delivery_stops.h"
#include "daemons/queue-manager/peers/routed_domains.h"
#include "daemons/queue-manager/probe/route_query.h"
#include "daemons/queue-manager/spool/idempotency_keys.h"
#include "daemons/queue-manager/control/listing.h"
#include "daemons/queue-manager/spool/spool_scanner.h"
#include "daemons/queue-manager/engine_driver/queue_metrics.h"
#include "daemons/queue-manager/engine_driver/rate.h"
#include "daemons/queue-manager/spool/message_loader.h"
#include "daemons/queue-manager/conversion/records.h"
#include "daemons/queue-manager/spool/quarantine_cleaner.h"
#include "daemons/queue-manager/spool/scrub.h"
#include "daemons/queue-manager/peers/service.h"
#include "daemons/queue-manager/spool/suppressions.h"
#include "daemons/queue-manager/probe/delivery_probe.h"
#include "daemons/queue-manager/spool/pending_records.h"
#include "libspool/disk/commit_pool.h"
#include "libspool/disk/real_disk.h"
#include "libspool/disk/reserve.h"
#include "libspool/store/store.h"
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace queue_manager {

class QueueManager final : public common::Daemon {
public:
    static spool::Result<std::unique_ptr<QueueManager>> create(common::DaemonContext& context,
                                                               common::DaemonConfig daemon_config);
    ~QueueManager() override;

    void reconfigure(common::DaemonConfig daemon_config) override;
    void stop(smtp::Duration within, std::function<void()> done) override;
    void process_ended(const std::string& role, std::uint32_t instance, bool crashed) override;
    std::string status_text() override; // the queue's size, and what keeps mail from coming in or going out
    void update_gauges(common::Metrics& metrics) override;

private:
    QueueManager(common::DaemonContext& context, const config::Config& config,
                 std::unique_ptr<spool::RealDisk> disk);
    void take_lock();
    void begin();

    // Tells the engine one thing and carries out what it says.
    template <class Call> void with_engine(Call&& call) {
        const auto now = common::Loop::now();
        call(now, actions_);
        perform(now);
    }
    void perform(smtp::Now now);
    void end_of_turn();

    // ---- what comes in ----
    void attach_writer(ipc::Peer peer, std::unique_ptr<ipc::Channel<proto::submission::Message>> channel);
    void detach_writer(std::uint8_t slot);
    std::string obstacle_of_writers() const;
    void submitted(std::uint8_t slot, const proto::submission::Submitted& message);
    void read_submitted(spool::QueueId id, decide::queue::Origin origin);
    void try_now(std::uint8_t slot, const proto::submission::FlushDomain& message);
    void accept(spool::QueueId id, spool::Location location, std::uint64_t size,
                const spool::MessageState& state, decide::queue::Origin origin);
    void found(spool::Found&& found);
    void all_loaded();
    void wait_for_agent(spool::QueueId id, spool::Location location);
    void put_aside(const spool::QuarantinedFile& aside);
    void found_damaged(spool::QueueId id, const std::string& why);
    void put_in_quarantine(spool::QueueId id, const std::string& why);
    void categorized(const proto::categorize::Categorized& answer);
    void settle(spool::QueueId id, const Judgement& judgement, const CategorizationInput& subject);
    void routed(const proto::route::Routed& answer);
    void handle_agent_message(decide::queue::AgentId agent, AgentKind kind, proto::delivery::Message&& message);
    void done(decide::queue::AgentId agent, AgentKind kind, const proto::delivery::Done& done);
    void look_for_file(decide::queue::AgentId agent, AgentKind kind, const proto::delivery::Done& said);
    void closed(const proto::delivery::Closed& closed);
    void returned(const proto::delivery::Returned& returned);
    DeliveryStops::Dependencies stop_dependencies();
    std::string agent_user() const; // the user that the delivery agents run as; "" the one that started us
    void source_refused(const proto::delivery::SourceRefused& refused);
    void source_taken(std::string_view link, std::string_view source, decide::SourceBackoff::Of what);
    void reported(const proto::report::Reported& answer);

    // ---- suppression ----
    Suppressions::Dependencies suppression_dependencies();
    void suppressed(std::span<const decide::Suppression> entries);
    void suppress_refused(const proto::delivery::Done& done);

    // ---- what the engine wants ----
    void execute(const decide::queue::AskCategorizer& action, smtp::Now now);
    void execute(const decide::queue::AskRoute& action, smtp::Now now);
    void execute(const decide::queue::AskSuppressions& action, smtp::Now now);
    void execute(const decide::queue::OpenConnection& action, smtp::Now now);
    void execute(const decide::queue::Deliver& action, smtp::Now now);
    void execute(const decide::queue::CloseConnection& action, smtp::Now now);
    void execute(const decide::queue::Recall& action, smtp::Now now);
    void execute(const decide::queue::CancelDelivery& action, smtp::Now now);
    void execute(const decide::queue::RecordDeferral& action, smtp::Now now);
    void execute(const decide::queue::RecordOutcome& action, smtp::Now now);
    void execute(const decide::queue::RecordSuspect& action, smtp::Now now);
    void execute(const decide::queue::RecordHeld& action, smtp::Now now);
    void execute(const decide::queue::RecordDelayNotice& action, smtp::Now now);
    void execute(const decide::queue::RecordReported& action, smtp::Now now);
    void execute(const decide::queue::MakeReport& action, smtp::Now now);
    void execute(const decide::queue::MoveToMessages& action, smtp::Now now);
    void execute(const decide::queue::Remove& action, smtp::Now now);
    void execute(const decide::queue::NoticeActive& action, smtp::Now now);
    void execute(const decide::queue::NoticeExpired& action, smtp::Now now);
    void execute(const decide::queue::NoticeDiscarded& action, smtp::Now now);
    void execute(const decide::queue::NoticeSuspended& action, smtp::Now now);
    void execute(const decide::queue::NoticeUndelivered& action, smtp::Now now);
    void execute(const decide::queue::NoticeLink& action, smtp::Now now);
    void execute(const decide::queue::NoticeQueue& action, smtp::Now now);
    void execute(const decide::queue::LinkForgotten& action, smtp::Now now);
    void execute(const decide::queue::DomainForgotten& action, smtp::Now now);
    void execute(const decide::queue::LinkState& action, smtp::Now now);
    void execute(const decide::queue::NoticeReset& action, smtp::Now now);
    void execute(const decide::queue::RecordPolicy& action, smtp::Now now);

    void not_categorized(spool::QueueId id, const MessageLoader::Failure& failure);
    void not_categorized(spool::QueueId id, std::string why);
    void ask_bounce(proto::report::Report question);
    void no_report(std::uint64_t request, spool::QueueId id, std::string why);
    CategorizationInput subject_of(const spool::MessageState& state, std::uint64_t size,
                                   std::span<const std::uint32_t> numbers) const;
    void ask_categorizer(spool::QueueId id, CategorizationInput subject);
    // The delivery lines of recipients that no agent tried: relay=none. They are written when all is carried out
    // that is to be at the moment.
    struct Undelivered {
        std::vector<std::uint32_t> numbers; // empty: all of the envelope
        decide::queue::Outcome outcome = decide::queue::Outcome::deferred;
        decide::queue::Reason reason;
    };
    void log_undelivered(spool::QueueId id, Undelivered lines) { undelivered_[id].push_back(std::move(lines)); }
    // Of these, whom no agent will have: failed, deferred; with `sendmail -bv` also who is served here.
    void log_categorized(spool::QueueId id, const std::vector<CategorizedRecipient>& recipients);
    void write_undelivered();
    void write_undelivered(spool::QueueId id); // of that message, now
    std::vector<spool::Property> discarded(std::vector<std::uint32_t> numbers, smtp::WallTime now) const;
    void write_undelivered(spool::QueueId id, const spool::MessageState& state, Undelivered lines);
    // Appends to the message's file; the result that is being recorded is acknowledged when all is written.
    void record(spool::QueueId id, std::vector<spool::Property> properties,
                spool::Sync sync = spool::Sync::no);
    void write_pending_records(); // what has been unwritten for a while
    // Every recipient is accounted for. A file that cannot go now goes later: a restart would deliver it again.
    void remove_file(spool::QueueId id, spool::Location location, std::shared_ptr<void> acknowledgement = {});
    void schedule_read(spool::QueueId id, decide::queue::Origin origin);
    void move_to_removed(spool::QueueId id);
    void restore_removed(spool::QueueId id, std::string who, spool::Store::Done done);
    void retry_removals();
    void retry_unread(); // what could not be read when the spool was loaded
    void failed_on_disk(spool::QueueId id, const spool::Error& error);
    // No room for what must be written: give up some of the reserve; take it back when there is room again.
    void release_reserve();
    void restore_reserve();
    void announce_modes(); // what the configuration changes about failures
    void limit_put_aside();
    void report_problem(const std::string& about, std::string text); // "" clears it
    void drain_then(smtp::Monotonic until, std::function<void()> done);
    void begin_control(common::Fd fd); // and what was paused before
    void save_snapshot();                   // health of links and queues, and what is due next, for the next start
    std::vector<spool::SnapshotMessage> recall(); // to be read first
    QueueStatus queue_status();

    struct Writer {
        std::uint64_t serial = 0; // which of the connections that slot has had
        proto::Role role{};
        std::string obstacle; // why it takes no mail; "" it does
        std::unique_ptr<ipc::Channel<proto::submission::Message>> channel;
    };
    struct Early {
        decide::queue::AgentId agent;
        AgentKind kind;
        proto::delivery::Done done;
    };
    struct LinkHosts {
        bool mx = false;
        std::string rule; // of the route that led to it last
        std::vector<proto::route::Host> hosts;
    };
    static LinkHosts hosts_of(const proto::route::Routed& answer);
    // What a connection of that link, to those hosts, needs to know, but for its number.
    proto::delivery::Connect connect_to(const std::string& link, const LinkHosts& hosts, smtp::Now now);
    // What the route of that pattern says of replies, as Deliver has it.
    std::vector<std::string> replies_by(std::string_view rule) const;
    DeliveryProbes::Dependencies probe_dependencies();

    common::DaemonContext& context_;
    common::Log& log_;
    const config::Config* config_;
    std::unique_ptr<spool::RealDisk> disk_;
    spool::File lock_;
    common::Wake wake_;
    Suppressions suppressions_{suppression_dependencies()}; // outlives the threads that read it
    spool::CommitPool pool_;
    spool::Store store_;
    MessageLoader readings_;
    std::optional<spool::Reserve> reserve_; // touched by one job at a time only
    bool reserve_busy_ = false, reserve_short_ = false;
    SpoolScanner scanner_;
    IdempotencyKeys idempotency_keys_;

    decide::queue::Engine engine_;
    decide::queue::Actions actions_;
    std::deque<std::function<void()>> next_; // to be told when the actions at hand are carried out
    bool performing_ = false;
    common::Timer timer_;
    common::TurnHook turn_;
    common::Timer gathering_; // until moves and removals that wait for company are carried out
    common::Timer pending_records_timer_; // of what is unwritten
    common::Timer lock_retry_, unlock_retry_, reserve_retry_, removal_retry_, reading_retry_;
    std::vector<std::pair<spool::QueueId, spool::Location>> unremoved_;
    smtp::Duration reading_pause_{}; // until the next try to read what could not be read
    std::map<spool::QueueId, decide::queue::Origin> unread_; // taken over, and their files could not be read
    common::Timer unread_retry_;
    Scrub scrub_;
    QuarantineCleaner cleaner_;
    std::array<std::uint64_t, 4> removed_counted_{}; // of its places
    std::unique_ptr<common::Timer> stopper_;

    std::vector<common::InheritedListener> handed_; // until the lock is ours
    ipc::ExpectedTokens expected_;
    common::Operators operators_;
    std::unique_ptr<ipc::Listener> listener_;
    std::unique_ptr<Listing> listing_;
    std::unique_ptr<Control> control_;
    Rate in_, out_; // messages accepted, messages that left
    std::map<std::uint8_t, Writer> writers_;
    std::uint64_t last_writer_ = 0;
    Agents agents_;
    Service<proto::categorize::Message> categorizer_;
    AnswerParts answer_parts_;
    Service<proto::route::Message> router_;
    Service<proto::report::Message> bounce_;
    RouteQuery route_query_{{[this](const auto& question) { return categorizer_.ask(question) == ipc::SendResult::yes; },
                      [this](const auto& question) { return router_.ask(question) == ipc::SendResult::yes; }}};

    DeliveryProbes probes_{probe_dependencies()};
    DeliveryStops stops_{context_.loop, stop_dependencies()};

    // Of the messages the categorizer is being asked about (max_pending_categorizations of them).
    std::unordered_map<spool::QueueId, CategorizationInput> subjects_;
    PendingRecords pending_records_;
    std::unordered_map<std::string, LinkHosts> links_;
    decide::SourceBackoff resting_; // source addresses; a restart forgets
    RoutedDomains domains_;
    QueueMetrics queue_metrics_;
    std::map<std::uint64_t, spool::QueueId> reports_;  // asked of bounce: request → message
    std::unordered_multimap<spool::QueueId, Early> early_; // told before the spool was read so far
    std::map<spool::QueueId, std::vector<Undelivered>> undelivered_; // lines to be written
    std::map<spool::QueueId, spool::Location> locked_; // an agent of an earlier queue-manager still has it
    std::map<std::string, std::string> problems_;      // for `postrider status`, by what they are about

    // What is being handled while actions are carried out.
    const spool::MessageState* accepting_ = nullptr;
    std::uint64_t accepting_size_ = 0;
    struct Categorization {
        const CategorizationInput& subject;
        const Judgement& judgement;
    };
    const Categorization* categorization_ = nullptr;
    const Result* result_ = nullptr;
    std::shared_ptr<void> acknowledgement_; // its end sends Acknowledged
    spool::Reported reported_how_ = spool::Reported::submitted;
    bool stopping_ = false;
};

} // namespace queue_manager
