// The queue-manager: the one process that changes messages after acceptance. This builds its parts and connects them,
// takes the spool's lock, starts, reloads and stops them, and reports their status. The engine (daemons/decide/queue)
// decides; the parts execute. Its loop never waits for a disk.
#pragma once
#include "daemons/common/ipc/listener.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/wake.h"
#include "daemons/decide/outcome/source_backoff.h"
#include "daemons/queue-manager/action_executor.h"
#include "daemons/queue-manager/control/delivery_stops.h"
#include "daemons/queue-manager/control/listing.h"
#include "daemons/queue-manager/control/mode_notices.h"
#include "daemons/queue-manager/control/pauses_in_force.h"
#include "daemons/queue-manager/control/queue_status.h"
#include "daemons/queue-manager/engine_driver/current_config.h"
#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include "daemons/queue-manager/engine_driver/message_intake.h"
#include "daemons/queue-manager/engine_driver/queue_metrics.h"
#include "daemons/queue-manager/engine_driver/suppression_checks.h"
#include "daemons/queue-manager/engine_driver/undelivered_log.h"
#include "daemons/queue-manager/events/door_events.h"
#include "daemons/queue-manager/events/message_events.h"
#include "daemons/queue-manager/events/recent_changes.h"
#include "daemons/queue-manager/events/system_events.h"
#include "daemons/queue-manager/fleet/fleet_link.h"
#include "daemons/queue-manager/fleet/key_records.h"
#include "daemons/queue-manager/journal/journal.h"
#include "daemons/queue-manager/journal_backlog.h"
#include "daemons/queue-manager/peers/agents.h"
#include "daemons/queue-manager/peers/categorizer_client.h"
#include "daemons/queue-manager/peers/delivery_orders.h"
#include "daemons/queue-manager/peers/delivery_results.h"
#include "daemons/queue-manager/peers/message_writers.h"
#include "daemons/queue-manager/peers/report_client.h"
#include "daemons/queue-manager/peers/router_client.h"
#include "daemons/queue-manager/probe/delivery_probe.h"
#include "daemons/queue-manager/probe/route_query.h"
#include "daemons/queue-manager/requests/control.h"
#include "daemons/queue-manager/spool/disk_reserve.h"
#include "daemons/queue-manager/spool/finished_log.h"
#include "daemons/queue-manager/spool/idempotency_keys.h"
#include "daemons/queue-manager/spool/message_files.h"
#include "daemons/queue-manager/spool/message_loader.h"
#include "daemons/queue-manager/spool/problem_list.h"
#include "daemons/queue-manager/spool/quarantine_cleaner.h"
#include "daemons/queue-manager/spool/scrub.h"
#include "daemons/queue-manager/spool/spool_gauges.h"
#include "daemons/queue-manager/spool/spool_scanner.h"
#include "daemons/queue-manager/spool/suppressions.h"
#include "daemons/queue-manager/spool_lock.h"
#include "daemons/queue-manager/transfers/transfers.h"
#include "daemons/queue-manager/verification/address_verification.h"
#include "libspool/disk/commit_pool.h"
#include "libspool/disk/real_disk.h"
#include "libspool/store/store.h"
#include <functional>
#include <memory>
#include <string>
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
    std::string status_text() override; // the queue's size, and what stops mail from coming in or going out
    void update_gauges(common::Metrics& metrics) override;

private:
    QueueManager(common::DaemonContext& context, const config::Config& config, std::unique_ptr<spool::RealDisk> disk);

    // ---- how the parts are connected ----
    Suppressions::Dependencies suppression_dependencies();
    Journal::Dependencies journal_dependencies();
    SpoolScanner::Callbacks scanner_callbacks();
    EngineDriver::Callbacks driver_callbacks();
    Agents::Callbacks agent_callbacks();
    DeliveryProbes::Dependencies probe_dependencies();
    AddressVerification::Dependencies verification_dependencies();
    void query_route(const std::string& address, const std::string& reverse_path, RouteQuery::Done done,
                     RouteQuery::RoutesWanted wanted = {});
    DeliveryStops::Dependencies stop_dependencies();
    FleetLink::Dependencies fleet_dependencies();
    bool is_node(const std::string& name) const; // the configuration has a section for it

    // ---- start, reload and stop ----
    void begin();
    void serve_peers();
    void recall_pauses();
    void all_loaded();
    void end_of_turn();
    void drain_then(smtp::Monotonic until, std::function<void()> done);
    void save_state(); // for the next start

    bool keeps_failed() const;
    QueueStatus queue_status();
    std::string not_accepting() const;  // why; "": it accepts
    std::string not_delivering() const; // why; "": it delivers

    common::DaemonContext& context_;
    common::Log& log_;
    CurrentConfig config_;
    std::unique_ptr<spool::RealDisk> disk_;
    bool stopping_ = false;
    RecentChanges recent_{common::Loop::now().wall};
    ProblemList problems_{[this](std::string_view all) { // for `postrider status`
        context_.report_problem(all);
        recent_.set_problems(problems_.texts(), common::Loop::now().wall);
    }};
    ModeNotices mode_notices_{log_, problems_};
    SpoolLock lock_{context_.loop, log_, *disk_, problems_, [this] { begin(); }};

    // Files. The suppression list and the reserve outlive the pool's threads, which use them.
    common::Wake wake_;
    DiskReserve reserve_{context_.loop, log_, pool_, problems_};
    Suppressions suppressions_{suppression_dependencies()};
    spool::FinishedMessages finished_messages_{*disk_};
    JournalFiles journal_files_;
    spool::CommitPool pool_;
    spool::Store store_{pool_, spool::StoreOptions{{}, &finished_messages_}};
    common::TurnHook turn_;
    Journal journal_;
    MessageLoader loader_;
    MessageEvents events_{journal_, loader_};
    SystemEvents system_events_{journal_, recent_};
    DoorEvents door_events_{journal_};
    SpoolScanner scanner_{pool_, scanner_callbacks()};
    IdempotencyKeys keys_;
    QuarantineCleaner cleaner_;
    FinishedLog finished_;
    MessageFiles files_;
    SpoolGauges spool_gauges_;

    // The engine, and its input apart from the other daemons' replies.
    EngineDriver driver_;
    UndeliveredLog undelivered_{log_, context_.metrics, loader_, events_};
    SuppressionChecks suppression_checks_;
    MessageIntake intake_;
    Scrub scrub_;
    QueueMetrics queue_metrics_;

    // The other daemons.
    decide::SourceBackoff resting_; // source addresses; a restart forgets
    Agents agents_{context_.loop, log_, agent_callbacks()};
    RouteQuery route_query_;
    ContentFilters content_filters_;
    CategorizerClient categorizer_;
    RouterClient router_;
    ReportClient reports_;
    DeliveryProbes probes_{probe_dependencies()};
    DeliveryStops stops_{context_.loop, stop_dependencies()};
    DeliveryOrders orders_{{.log = log_,
                            .config = config_,
                            .driver = driver_,
                            .agents = agents_,
                            .files = files_,
                            .router = router_,
                            .resting = resting_,
                            .filters = content_filters_}};
    DeliveryResults results_;
    MessageWriters writers_;
    RateExchange rates_{
        {.driver = driver_, .send = [this](const proto::fleet::AskTokens& question) { fleet_.ask(question); }}};
    ActionExecutor executor_;
    Transfers transfers_;

    FleetLink fleet_{fleet_dependencies()};
    KeyRecords key_records_;

    // Operators.
    PausesInForce pauses_;
    JournalBacklog journal_backlog_{log_, driver_, pauses_, writers_, problems_};
    AddressVerification verification_;
    std::unique_ptr<Listing> listing_;
    std::unique_ptr<Control> control_;

    std::vector<common::InheritedListener> handed_; // until the lock is ours
    ipc::ExpectedTokens expected_;
    common::Operators operators_;
    std::unique_ptr<ipc::Listener> listener_;
    std::unique_ptr<common::Timer> stopper_;
};

} // namespace queue_manager
